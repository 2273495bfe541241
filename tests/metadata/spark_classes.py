"""The settings that Spark's classes of readers look at, found in their compiled code."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyspark

_SETTINGS = "org/apache/spark/sql/internal/SQLConf"
#: The classes of the readers, their options and what they share.
_READERS = re.compile(
    r"org/apache/spark/sql/("
    r"catalyst/(csv|json|xml)/|avro/|v2/avro/|execution/datasources/(v2/)?(csv|json|xml|text|parquet|orc)/"
    r"|execution/datasources/(DataSourceUtils|FileScanRDD|FileFormat|CodecStreams|HadoopFile|RecordReaderIterator|"
    r"DataSourceStrategy|FileSourceStrategy|SchemaPruning|PartitioningAwareFileIndex|InMemoryFileIndex|FilePartition|"
    r"HadoopFsRelation|DataSource)\w*[$.]|execution/datasources/v2/File[A-Z]\w*[$.]|catalyst/FileSourceOptions"
    r"|catalyst/util/(FailureSafeParser|RebaseDateTime|DateFormatter|TimestampFormatter|TimeFormatter|"
    r"DateTimeFormatterHelper|ResolveDefaultColumns)\w*[$.])"
)
_INVOKE = 0xB6


def names_of_settings(jars: list[Path]) -> set[str]:
    """Return the names of the entries of ``SQLConf`` that the readers' classes in jar files refer to."""
    (catalyst,) = (jar for jar in jars if jar.name.startswith("spark-catalyst"))
    accessors = _accessors(zipfile.ZipFile(catalyst).read(f"{_SETTINGS}.class"))
    found: set[str] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as opened:
            for name in opened.namelist():
                if name.endswith(".class") and _READERS.match(name):
                    found |= _entries(opened.read(name), accessors)
    return {name for name in found if re.fullmatch(r"[A-Z][A-Z0-9_]+", name)}


def spark_jars() -> list[Path]:
    """Return Spark's own jar files with readers, without that of Avro."""
    folder = Path(pyspark.__path__[0]) / "jars"
    return [jar for stem in ("spark-catalyst", "spark-sql_", "spark-sql-api") for jar in folder.glob(f"{stem}*.jar")]


def _entries(code: bytes, accessors: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    for owner, member in _references(_pool(code)[0]):
        if owner == f"{_SETTINGS}$":
            found.add(member)
        elif owner == _SETTINGS:
            found |= accessors.get(member, set())
    return found


def _accessors(code: bytes) -> dict[str, set[str]]:
    """Return the entries that each method of ``SQLConf`` reads."""
    pool, position = _pool(code)
    position += 6
    position += 2 + 2 * _number(code, position)
    accessors: dict[str, set[str]] = {}
    for is_method in (False, True):
        count = _number(code, position)
        position += 2
        for _ in range(count):
            name = _text(pool, _number(code, position + 2))
            attributes = _number(code, position + 6)
            position += 8
            for _ in range(attributes):
                kind, length = _text(pool, _number(code, position)), struct.unpack_from(">I", code, position + 2)[0]
                body = code[position + 6 : position + 6 + length]
                position += 6 + length
                if is_method and kind == "Code":
                    accessors.setdefault(name, set()).update(_invoked(body, pool))
    return accessors


def _invoked(body: bytes, pool: list[tuple[int, ...] | str | None]) -> Iterator[str]:
    for at in range(len(body) - 2):
        index = _number(body, at + 1)
        if body[at] == _INVOKE and index < len(pool):
            entry = pool[index]
            if isinstance(entry, tuple) and entry[0] == 10 and _owner(pool, entry) == f"{_SETTINGS}$":
                yield _member(pool, entry)


def _references(pool: list[tuple[int, ...] | str | None]) -> Iterator[tuple[str, str]]:
    for entry in pool:
        if isinstance(entry, tuple) and entry[0] in (9, 10, 11):
            yield _owner(pool, entry), _member(pool, entry)


def _owner(pool: list[tuple[int, ...] | str | None], entry: tuple[int, ...]) -> str:
    owner = pool[entry[1]]
    assert isinstance(owner, tuple)
    return _text(pool, owner[1])


def _member(pool: list[tuple[int, ...] | str | None], entry: tuple[int, ...]) -> str:
    described = pool[entry[2]]
    assert isinstance(described, tuple)
    return _text(pool, described[1])


def _text(pool: list[tuple[int, ...] | str | None], index: int) -> str:
    text = pool[index]
    assert isinstance(text, str)
    return text


def _number(code: bytes, position: int) -> int:
    return int(struct.unpack_from(">H", code, position)[0])


def _pool(code: bytes) -> tuple[list[tuple[int, ...] | str | None], int]:
    """Return the constants of a class file, and the position behind them."""
    count, position = _number(code, 8), 10
    pool: list[tuple[int, ...] | str | None] = [None] * count
    sizes = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
    index = 1
    while index < count:
        tag = code[position]
        position += 1
        if tag == 1:
            length = _number(code, position)
            pool[index] = code[position + 2 : position + 2 + length].decode("utf-8", "replace")
            position += 2 + length
        else:
            size = sizes[tag]
            numbers = tuple(_number(code, position + at) for at in range(0, size - size % 2, 2))
            pool[index] = (tag, *numbers)
            position += size
        index += 2 if tag in (5, 6) else 1
    return pool, position
