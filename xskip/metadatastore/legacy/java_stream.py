"""Java serialisation streams as data: the parser follows a grammar and a list of classes, and instantiates nothing.

Source: the Java Object Serialization Specification, version 6.0, chapter 6. The parser refuses what metadata do not
contain: proxies, enums, exceptions, classes as values, resets and externalizable objects.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from xskip.errors import MetadataCorruptError

__all__ = ["ClassSpec", "JavaObject", "JavaValue", "StreamWriter", "parse_stream"]

_MAGIC = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS, _OBJECT, _STRING, _ARRAY = 0x70, 0x71, 0x72, 0x73, 0x74, 0x75
_BLOCK, _END, _BLOCK_LONG, _STRING_LONG = 0x77, 0x78, 0x7A, 0x7C
_FIRST_HANDLE = 0x7E0000
_SERIALIZABLE, _WITH_WRITE_METHOD = 0x02, 0x03
_PRIMITIVES = {"B": ">b", "C": ">H", "D": ">d", "F": ">f", "I": ">i", "J": ">q", "S": ">h", "Z": ">?"}
_DEEPEST = 32


@dataclass(frozen=True, slots=True)
class JavaObject:
    """A Java object as a stream describes it, under the name of its class."""

    name: str
    #: The values of all fields, including those of parent classes.
    fields: dict[str, JavaValue] = field(default_factory=dict)
    #: The blocks of bytes and the values that write methods of the classes have added.
    extra: list[JavaValue] = field(default_factory=list)


JavaValue = JavaObject | str | bytes | int | float | bool | None


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    has_write_method: bool
    fields: tuple[tuple[str, str], ...]
    parent: _Class | None


def parse_stream(data: bytes, known: Collection[str], silent: Collection[str] = ()) -> JavaValue:
    """Parse the single value of a stream; raise MetadataCorruptError for any stream of another form.

    ``known`` are the permitted classes. The write methods of ``silent`` ones omit the fields, which a stream does not
    reveal.
    """
    try:
        return _Parser(data, frozenset(known), frozenset(silent)).parse()
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise _corrupt(f"{type(error).__name__} in {len(data)} bytes") from error


def _corrupt(found: str) -> MetadataCorruptError:
    return MetadataCorruptError("the serialised object is damaged or not part of the metadata format", found=found)


class _Parser:
    """A cursor in a stream, with the values and classes to which the stream can refer."""

    def __init__(self, data: bytes, known: frozenset[str], silent: frozenset[str]) -> None:
        self._data = data
        self._at = 0
        self._known = known
        self._silent = silent
        self._handles: list[JavaValue | _Class] = []
        self._depth = 0

    def parse(self) -> JavaValue:
        if self._take(4) != _MAGIC:
            raise _corrupt("no header of a Java serialisation stream")
        value = self._value(self._byte())
        if self._at != len(self._data):
            raise _corrupt(f"{len(self._data) - self._at} bytes after the value")
        return value

    def _take(self, count: int) -> bytes:
        piece = self._data[self._at : self._at + count]
        if count < 0 or len(piece) != count:
            raise _corrupt(f"{len(self._data)} bytes, fewer than the stream declares")
        self._at += count
        return piece

    def _number(self, form: str) -> int | float | bool:
        value: int | float | bool = struct.unpack(form, self._take(struct.calcsize(form)))[0]
        return value

    def _byte(self) -> int:
        return self._take(1)[0]

    def _length(self, form: str) -> int:
        return int(self._number(form))

    def _value(self, tag: int) -> JavaValue:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _corrupt(f"objects nested more than {_DEEPEST} levels deep")
        try:
            return self._read(tag)
        finally:
            self._depth -= 1

    def _read(self, tag: int) -> JavaValue:
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            found = self._reference()
            if isinstance(found, _Class):
                raise _corrupt("a class where a value is expected")
            return found
        if tag == _OBJECT:
            return self._object()
        if tag in (_STRING, _STRING_LONG):
            return self._string(tag)
        if tag == _ARRAY:
            return self._bytes()
        raise _corrupt(f"tag {tag:#x}")

    def _reference(self) -> JavaValue | _Class:
        index = self._length(">i") - _FIRST_HANDLE
        if not 0 <= index < len(self._handles):
            raise _corrupt("a reference to an undefined object")
        return self._handles[index]

    def _string(self, tag: int) -> str:
        raw = self._take(self._length(">H" if tag == _STRING else ">q"))
        text = _decode(raw)
        self._handles.append(text)
        return text

    def _name(self) -> str:
        return _decode(self._take(self._length(">H")))

    def _class(self, tag: int) -> _Class | None:
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            found = self._reference()
            if not isinstance(found, _Class):
                raise _corrupt("a value where a class is expected")
            return found
        if tag != _CLASS:
            raise _corrupt(f"tag {tag:#x} where a class is expected")
        return self._new_class()

    def _new_class(self) -> _Class:
        name = self._name()
        if name not in self._known:
            raise _corrupt(f"class {name[:100]}")
        self._take(8)  # skip the serial version UID, which changed between releases
        # A class gets its handle before the signatures of its fields and its parent get theirs.
        place = len(self._handles)
        self._handles.append(None)
        flags = self._byte()
        if flags not in (_SERIALIZABLE, _WITH_WRITE_METHOD):
            raise _corrupt(f"class {name} with flags {flags:#x}")
        fields = tuple(self._field() for _ in range(self._length(">H")))
        if self._byte() != _END:
            raise _corrupt(f"class {name} with annotations")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _corrupt(f"classes nested more than {_DEEPEST} levels deep")
        made = _Class(name, flags == _WITH_WRITE_METHOD, fields, self._class(self._byte()))
        self._depth -= 1
        self._handles[place] = made
        return made

    def _field(self) -> tuple[str, str]:
        kind, name = chr(self._byte()), self._name()
        if kind in ("L", "["):
            # A signature is a string with a handle of its own, so it must be parsed.
            self._value(self._byte())  # skip the signature of the type
        elif kind not in _PRIMITIVES:
            raise _corrupt(f"a field of kind {kind!r}")
        return kind, name

    def _object(self) -> JavaObject:
        described = self._class(self._byte())
        if described is None:
            raise _corrupt("an object without a class")
        made = JavaObject(described.name)
        # The object gets its handle before its fields, because a field can refer to the object.
        self._handles.append(made)
        lineage = [described]
        while lineage[-1].parent is not None:
            lineage.append(lineage[-1].parent)
        # A stream holds the fields of a parent class before those of its subclass.
        for each in reversed(lineage):
            for kind, name in () if each.name in self._silent else each.fields:
                primitive = _PRIMITIVES.get(kind)
                made.fields[name] = self._number(primitive) if primitive else self._value(self._byte())
            if each.has_write_method:
                made.extra.extend(self._annotation())
        return made

    def _annotation(self) -> list[JavaValue]:
        found: list[JavaValue] = []
        while (tag := self._byte()) != _END:
            if tag in (_BLOCK, _BLOCK_LONG):
                found.append(self._take(self._length(">B" if tag == _BLOCK else ">i")))
            else:
                found.append(self._value(tag))
        return found

    def _bytes(self) -> bytes:
        described = self._class(self._byte())
        if described is None or described.name != "[B":
            raise _corrupt("an array of another type than byte")
        place = len(self._handles)
        self._handles.append(None)
        data = self._take(self._length(">i"))
        self._handles[place] = data
        return data


@dataclass(frozen=True, slots=True)
class ClassSpec:
    """A Java class as a stream describes it."""

    #: The serial version UID.
    uid: int
    #: The names and types of the fields in Java's notation, primitive types first.
    fields: tuple[tuple[str, str], ...] = ()
    parent: str | None = None
    #: Whether the class has a write method.
    writes: bool = False


class StreamWriter:
    """A writer of a stream with one value; the caller must write values that fit the fields of the classes.

    >>> writer = StreamWriter({})
    >>> writer.string("Ok")
    >>> bytes(writer.data).hex()
    'aced00057400024f6b'
    """

    def __init__(self, classes: Mapping[str, ClassSpec]) -> None:
        # The stream written so far.
        self.data = bytearray(_MAGIC)
        self._classes = classes
        self._handles = 0
        self._described: dict[str, int] = {}
        self._types: dict[str, int] = {}

    def begin(self, name: str, tag: int = _OBJECT) -> None:
        """Begin an object, or an array with another tag; the values of its fields follow, those of its parent first."""
        self.data.append(tag)
        self._describe(name)
        self._handles += 1

    def array(self, name: str, data: bytes) -> None:
        """Write an array of bytes."""
        self.begin(name, _ARRAY)
        self.data += len(data).to_bytes(4, "big") + data

    def primitive(self, kind: str, value: float) -> None:
        """Write the value of a field with a primitive type."""
        self.data += struct.pack(_PRIMITIVES[kind], value)

    def block(self, data: bytes) -> None:
        """Write bytes that a write method adds, at most 255."""
        self.data += bytes((_BLOCK, len(data))) + data

    def end(self) -> None:
        """Write the end of the data that a write method adds."""
        self.data.append(_END)

    def string(self, text: str) -> None:
        """Write a string."""
        raw = _encode(text)
        short = len(raw) < 1 << 16
        self.data.append(_STRING if short else _STRING_LONG)
        self.data += len(raw).to_bytes(2 if short else 8, "big") + raw
        self._handles += 1

    def _describe(self, name: str | None) -> None:
        if name is None:
            self.data.append(_NULL)
            return
        if name in self._described:
            self._refer(self._described[name])
            return
        spec = self._classes[name]
        self.data.append(_CLASS)
        self.data += _utf(name) + struct.pack(">q", spec.uid)
        self._described[name] = self._handles
        self._handles += 1
        self.data.append(_WITH_WRITE_METHOD if spec.writes else _SERIALIZABLE)
        self.data += len(spec.fields).to_bytes(2, "big")
        for field_name, kind in spec.fields:
            self.data += kind[:1].encode() + _utf(field_name)
            if kind not in _PRIMITIVES:
                self._type(kind)
        self.data.append(_END)
        self._describe(spec.parent)

    def _type(self, kind: str) -> None:
        """Write the type of a field, or a reference if the stream already contains the type."""
        if kind in self._types:
            self._refer(self._types[kind])
        else:
            self._types[kind] = self._handles
            self.string(kind)

    def _refer(self, handle: int) -> None:
        self.data.append(_REFERENCE)
        self.data += (_FIRST_HANDLE + handle).to_bytes(4, "big")


def _utf(text: str) -> bytes:
    raw = _encode(text)
    return len(raw).to_bytes(2, "big") + raw


def _encode(text: str) -> bytes:
    # Java's modified UTF-8: NUL is two bytes long, and a character beyond the basic plane is two surrogates of three
    # bytes each.
    units = text.encode("utf-16-be")
    plain = "".join(chr(int.from_bytes(units[i : i + 2], "big")) for i in range(0, len(units), 2))
    return plain.encode("utf-8", "surrogatepass").replace(b"\x00", b"\xc0\x80")


def _decode(raw: bytes) -> str:
    # This joins the two surrogates of a character, which Java encodes separately.
    text = raw.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
