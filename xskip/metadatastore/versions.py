"""What differs between the versions of the format. Rules: specs/metadatastore.rst, [MDS-V]."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from xskip.errors import MetadataVersionError
from xskip.metadata import IndexDefinition

__all__ = ["CURRENT_VERSION", "VersionRules", "VersionStatus", "rules_of", "status_of"]

CURRENT_VERSION = 4
_BLOOM_UDT = "io.xskipper.metadatastore.parquet.ParquetBaseClauseTranslator$BloomFilterMetaDataTypeUDT"


class VersionStatus(Enum):
    """How a version of metadata stands to this release; the names are Xskipper's."""

    CURRENT = "CURRENT"
    DEPRECATED_SUPPORTED = "DEPRECATED_SUPPORTED"
    DEPRECATED_UNSUPPORTED = "DEPRECATED_UNSUPPORTED"
    TOO_NEW = "TOO_NEW"


@dataclass(frozen=True, slots=True)
class VersionRules:
    """The names that one version gives to things."""

    number: int
    bloom_udt: str
    partition_prefix: str

    def column_name(self, definition: IndexDefinition) -> str:
        """The column of an index: its columns escaped, its name, the lengths [MDS-N1].

        >>> rules_of(4).column_name(IndexDefinition("someindex", ("lat#_.$_new", "$_lng.#")))
        'lat##_$#$$_new_$_lng$#$##_someindex_14-10'
        """
        escaped = [column.replace("#", "##").replace(".", "$#$") for column in definition.columns]
        lengths = "-".join(str(_utf16_length(column)) for column in escaped)
        return "_".join((*escaped, definition.name, lengths))

    def partition_name(self, column: str) -> str:
        """The column of a partition's values [MDS-P1]."""
        return self.partition_prefix + column


_RULES = {4: VersionRules(4, _BLOOM_UDT, "virtual_")}


def _utf16_length(text: str) -> int:
    """Length as Java counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def status_of(version: int) -> VersionStatus:
    """The status of a version number.

    >>> status_of(4).value, status_of(1).value, status_of(9).value
    ('CURRENT', 'DEPRECATED_SUPPORTED', 'TOO_NEW')
    """
    if version > CURRENT_VERSION:
        return VersionStatus.TOO_NEW
    if version == CURRENT_VERSION:
        return VersionStatus.CURRENT
    return VersionStatus.DEPRECATED_SUPPORTED if version >= 1 else VersionStatus.DEPRECATED_UNSUPPORTED


def rules_of(version: int) -> VersionRules:
    """The rules of a version.

    Raises
    ------
    MetadataVersionError
        This release does not read the version.
    """
    if version not in _RULES:
        raise MetadataVersionError(
            f"metadata of version {version} cannot be read",
            found=status_of(version).value,
            expected="version " + ", ".join(map(str, _RULES)),
            hint="use a newer xskip" if version > CURRENT_VERSION else "drop the index and create it again",
        )
    return _RULES[version]
