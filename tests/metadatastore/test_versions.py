"""Columns have names, and versions have statuses. Rules: specs/metadatastore.rst, [MDS-N] and [MDS-V]."""

from __future__ import annotations

import pytest

from xskip.errors import MetadataVersionError
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.versions import CURRENT_VERSION, rules_of, status_of


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("someindex", ("lat#_.$_new", "$_lng.#"), "lat##_$#$$_new_$_lng$#$##_someindex_14-10"),
        ("minmax", ("temp",), "temp_minmax_4"),
        ("minmax", ("st.in.y",), "st$#$in$#$y_minmax_11"),
        ("minmax", ("`a.b`",), "`a$#$b`_minmax_7"),
        ("minmax", ("s.`a.b`.`c d`",), "s$#$`a$#$b`$#$`c d`_minmax_19"),
        ("minmax", ("a#b",), "a##b_minmax_4"),
        ("minmax", ("$#$",), "$##$_minmax_4"),
        ("valuelist", ("#.#",), "##$#$##_valuelist_7"),
        ("someindex", ("a_b", "c"), "a_b_c_someindex_3-1"),
        ("someindex", ("a", "b_c"), "a_b_c_someindex_1-3"),
        ("minmax", ("a_minmax_1",), "a_minmax_1_minmax_10"),
        ("valuelist", ("_x_",), "_x__valuelist_3"),
        ("minmax", ("Upper Case",), "Upper Case_minmax_10"),
    ],
)
def test_column_names(name: str, columns: tuple[str, ...], expected: str) -> None:
    """[MDS-N-1] [MDS-N-2] [MDS-N-4] A name has the escaped columns, the index type and the lengths."""
    assert rules_of(4).column_name(IndexDefinition(name, columns)) == expected


@pytest.mark.parametrize(
    ("column", "length"),
    [("größe", 5), ("gro\u0308ße", 6), ("\U0001f600", 2), ("日本", 2), ("\U0001f600.#", 7)],
)
def test_lengths_are_utf16_units(column: str, length: int) -> None:
    """[MDS-N-3] A character beyond the basic plane counts twice, as in Java."""
    assert rules_of(4).column_name(IndexDefinition("minmax", (column,))).endswith(f"_minmax_{length}")


def test_names_tell_indexes_apart() -> None:
    """[MDS-N-1] Different lists of columns have different names without dots."""
    columns = [("a",), ("a_b",), ("a", "b"), ("a.b",), ("a#b",), ("a##b",), ("a$#$b",), ("a_b", "c"), ("a", "b_c")]
    names = [rules_of(4).column_name(IndexDefinition("minmax", each)) for each in columns]
    assert len(set(names)) == len(columns)
    assert not [name for name in names if "." in name]


def test_partition_name() -> None:
    """[MDS-P-1] The name is the prefix and the column's name without escapes."""
    assert rules_of(4).partition_name("Date.x#1") == "virtual_Date.x#1"


@pytest.mark.parametrize(
    ("version", "status"),
    [
        (4, "CURRENT"),
        (3, "DEPRECATED_SUPPORTED"),
        (2, "DEPRECATED_SUPPORTED"),
        (1, "DEPRECATED_SUPPORTED"),
        (0, "DEPRECATED_UNSUPPORTED"),
        (5, "TOO_NEW"),
        (2**31, "TOO_NEW"),
    ],
)
def test_statuses(version: int, status: str) -> None:
    """[MDS-V-2] Each version has one of four statuses."""
    assert status_of(version).value == status


def test_current_version() -> None:
    """[MDS-V-1] Version 4 is written by default."""
    assert CURRENT_VERSION == 4
    assert rules_of(CURRENT_VERSION).number == 4


@pytest.mark.parametrize(
    ("version", "status", "hint"),
    [
        (5, "TOO_NEW", "use a newer xskip"),
        (-1, "DEPRECATED_UNSUPPORTED", "drop the index and create it again"),
    ],
)
def test_other_versions_are_refused(version: int, status: str, hint: str) -> None:
    """[MDS-V-3] The error has the version, its status, the supported versions and a hint."""
    with pytest.raises(MetadataVersionError) as caught:
        rules_of(version)
    message = str(caught.value)
    assert f"this release cannot read metadata of version {version} " in message
    assert status in message
    assert "expected: a version from 0 to 4" in message
    assert message.endswith(hint)
