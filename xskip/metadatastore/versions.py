"""The differences between the versions of the metadata format. Rules: [MDS-N] and [MDS-V]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from xskip.errors import MetadataVersionError
from xskip.metadata.table import IndexDefinition, IndexKey
from xskip.metadatastore.legacy.java_bloom import NEW_PACKAGE, OLD_PACKAGE
from xskip.settings import BYTES_PER_FILE, ROWS_PER_FILE

__all__ = [
    "CURRENT_VERSION",
    "OLDEST_VERSION",
    "VersionRules",
    "VersionStatus",
    "WriteOptions",
    "base_name",
    "is_udt",
    "own_name",
    "params_of",
    "rules_of",
    "status_of",
]

OLDEST_VERSION, CURRENT_VERSION = 0, 4
_TRANSLATOR = "metadatastore.parquet.ParquetBaseClauseTranslator"
_OLD_UDT, _NEW_UDT = f"com.ibm.metaindex.metadata.{_TRANSLATOR}", f"io.xskipper.{_TRANSLATOR}"
_OLD_PREFIX, _NEW_PREFIX = "spark.ibm.metaindex.", "io.xskipper."
_PARTITION_PREFIX = "virtual_"
_OWN = "xskip"
#: The class names of the user-defined types, by index type.
_UDTS = {
    "minmax": "MinMaxMetaDataTypeUDT",
    "valuelist": "ValueListMetaDataTypeUDT",
    "bloomfilter": "BloomFilterMetaDataTypeUDT",
}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for writing metadata files."""

    version: int = CURRENT_VERSION
    #: The label of the key for footers, data file names and partition values; required if an index has a key.
    footer_key: str | None = None
    #: Whether footers are signed instead of encrypted.
    plaintext_footer: bool = False
    #: The maximum number of rows in one file; the maximum of bytes is approximate.
    rows_per_file: int = ROWS_PER_FILE.default
    bytes_per_file: int = BYTES_PER_FILE.default
    #: The indexes that another program would misread under the format's names [MDS-F-8]. Indexes on expressions always
    #: count as misread and need not be listed.
    own: frozenset[IndexKey] = frozenset()
    #: The number of bytes of the parts that data files are divided into; 0 for none, None for the default.
    part_bytes: int | None = None

    @property
    def is_secret(self) -> bool:
        """Return whether nobody without a key can read the definitions of the indexes."""
        return self.footer_key is not None and not self.plaintext_footer

    def has_own_name(self, definition: IndexDefinition) -> bool:
        """Return whether an index is written under a name that only xskip knows [MDS-F-8]."""
        known = self.version > 0 and definition.name in _UDTS  # no other program reads version 0
        return known and (definition.expression is not None or definition.key in self.own)

    def written(self, definition: IndexDefinition) -> IndexDefinition:
        """Return an index definition with the name that metadata files give to the index."""
        return replace(definition, name=own_name(definition.name)) if self.has_own_name(definition) else definition


class VersionStatus(Enum):
    """The status of a metadata version in this release, under Xskipper's names."""

    CURRENT = "CURRENT"
    DEPRECATED_SUPPORTED = "DEPRECATED_SUPPORTED"
    DEPRECATED_UNSUPPORTED = "DEPRECATED_UNSUPPORTED"
    TOO_NEW = "TOO_NEW"


@dataclass(frozen=True, slots=True)
class VersionRules:
    """The names and the storage forms of one version."""

    number: int
    #: Whether classes and parameters have the names from before the other program was renamed to Xskipper.
    is_old: bool
    #: Whether parameters are a list of texts ``key:value`` instead of a map.
    params_as_list: bool
    #: Whether values are serialised Java objects of user-defined types and index columns have the table identifier.
    serialised: bool
    #: Whether the names of columns are escaped and followed by their lengths.
    measured: bool
    #: Whether there are partition columns.
    partitions: bool

    @property
    def parts(self) -> bool:
        """Return whether files can have statistics by part: no other program ignores a column of serialised objects."""
        return not self.serialised

    def column_name(self, definition: IndexDefinition) -> str:
        """Return the name of an index column: columns, index type and, from version 2 on, lengths [MDS-N-1].

        >>> some = IndexDefinition("someindex", ("lat#_.$_new", "$_lng.#"))
        >>> rules_of(4).column_name(some)
        'lat##_$#$$_new_$_lng$#$##_someindex_14-10'
        >>> rules_of(1).column_name(some), rules_of(0).column_name(some)
        ('lat#_.$_new_$_lng.#_someindex', 'lat#_.$_new:$_lng.#_someindex')
        """
        if not self.measured:
            return (":" if self.serialised else "_").join(definition.columns) + "_" + definition.name
        escaped = [column.replace("#", "##").replace(".", "$#$") for column in definition.columns]
        lengths = "-".join(str(_utf16_length(column)) for column in escaped)
        return "_".join((*escaped, definition.name, lengths))

    def partition_name(self, column: str) -> str:
        """Return the name of the metadata column with the values of a partition column [MDS-P-1]."""
        return _PARTITION_PREFIX + column

    def partition_of(self, column: str) -> str | None:
        """Return the partition column whose values a metadata column holds; None if it holds no partition values."""
        return (
            column.removeprefix(_PARTITION_PREFIX) if self.partitions and column.startswith(_PARTITION_PREFIX) else None
        )

    def serialises(self, index: str) -> bool:
        """Return whether the values of an index type are serialised Java objects."""
        return self.serialised and index in _UDTS

    def udt(self, index: str) -> str:
        """Return the user-defined type of the values of an index type [MDS-T-3]."""
        return f"{_OLD_UDT if self.is_old else _NEW_UDT}${_UDTS[index]}"

    @property
    def package(self) -> str:
        """Return the Java package of the serialised classes."""
        return OLD_PACKAGE if self.is_old else NEW_PACKAGE

    @property
    def master_keys(self) -> tuple[str, ...]:
        """Return the keys of the metadata of ``obj_name``, in the order in which the version's programs write them."""
        return (
            ("tableIdentifier", "encryption", "version")
            if self.partitions
            else ("encryption", "tableIdentifier", "version")
        )

    @property
    def encryption_keys(self) -> tuple[str, ...]:
        """Return the keys of the encryption metadata, in the order in which the version's programs write them."""
        names = ("encryption.column.keys", "encryption.plaintext.footer", "encryption.footer.key")
        return (names[2], names[0], names[1]) if self.partitions else names

    @property
    def index_keys(self) -> tuple[str, ...]:
        """Return the keys of an index column's metadata, in the order in which the version's programs write them."""
        if self.partitions:
            return ("name", "params", "key_metadata", "cols")
        return ("cols", "name", "key_metadata", "tableIdentifier", "params")

    def params_json(self, params: Iterable[tuple[str, str]]) -> Any:
        """Return index parameters, given under their present names, in the JSON form of the version [MDS-V-6]."""
        named = [
            (_OLD_PREFIX + key.removeprefix(_NEW_PREFIX), v) if self._renames(key) else (key, v) for key, v in params
        ]
        return [f"{key}:{value}" for key, value in sorted(named)] if self.params_as_list else dict(named)

    def _renames(self, key: str) -> bool:
        return self.is_old and key.startswith(_NEW_PREFIX)


def params_of(value: Any) -> tuple[tuple[str, str], ...]:
    """Parse index parameters from a map or a list of texts, under their present names [MDS-V-6].

    >>> params_of(["spark.ibm.metaindex.index.bloom.fpp:0.01"])
    (('io.xskipper.index.bloom.fpp', '0.01'),)
    """
    pairs = value.items() if isinstance(value, dict) else [str(text).split(":", 1) for text in value]
    return tuple(
        (_NEW_PREFIX + str(k).removeprefix(_OLD_PREFIX) if str(k).startswith(_OLD_PREFIX) else str(k), str(v))
        for k, v in pairs
    )


def own_name(index: str) -> str:
    """Return the name under which only xskip knows an index type of the format [MDS-F-8].

    >>> own_name("minmax"), base_name("xskipminmax"), base_name("minmax"), base_name("xskipped")
    ('xskipminmax', 'minmax', 'minmax', 'xskipped')
    """
    return _OWN + index


def base_name(index: str) -> str:
    """Return the index type for a result of :func:`own_name`; return any other name unchanged."""
    name = index.removeprefix(_OWN)
    return name if name in _UDTS else index


def is_udt(index: str, name: str) -> bool:
    """Return whether a class is the user-defined type of an index type in any version.

    >>> is_udt("minmax", rules_of(0).udt("minmax")), is_udt("minmax", "org.example.UDT")
    (True, False)
    """
    return index in _UDTS and name in (f"{outer}${_UDTS[index]}" for outer in (_OLD_UDT, _NEW_UDT))


_RULES = {
    # The values are is_old, params_as_list, serialised, measured and partitions.
    number: VersionRules(number, *rest)
    for number, rest in {
        0: (True, False, True, False, False),
        1: (True, True, False, False, False),
        2: (True, True, False, True, False),
        3: (False, False, False, True, False),
        4: (False, False, False, True, True),
    }.items()
}


def _utf16_length(text: str) -> int:
    # Java counts the length of a text in units of UTF-16.
    return len(text.encode("utf-16-le")) // 2


def status_of(version: int) -> VersionStatus:
    """Return the status of a version number."""
    if version > CURRENT_VERSION:
        return VersionStatus.TOO_NEW
    if version == CURRENT_VERSION:
        return VersionStatus.CURRENT
    return VersionStatus.DEPRECATED_SUPPORTED if version >= 1 else VersionStatus.DEPRECATED_UNSUPPORTED


def rules_of(version: int) -> VersionRules:
    """Return the rules of a version, or raise MetadataVersionError if this release does not read the version."""
    if version not in _RULES:
        raise MetadataVersionError(
            f"this release cannot read metadata of version {version}",
            found=status_of(version).value,
            expected=f"a version from {OLDEST_VERSION} to {CURRENT_VERSION}",
            hint="use a newer xskip" if version > CURRENT_VERSION else "drop the index and create it again",
        )
    return _RULES[version]
