"""Every column type with nulls and edges, as the server selects it [QDB-TY]."""

from __future__ import annotations

import base64

import numpy as np
import pyarrow as pa
import pytest

from tests.questdb.server import Server
from tests.questdb.tables import ALL, create_with_all_types
from tests.questdb.values import check
from xskip.errors import UnsupportedTypeError
from xskip.questdb.table import open_table
from xskip.questdb_files.column_types import column_type
from xskip.questdb_files.fixed_columns import symbol_values
from xskip.questdb_files.symbols import one_dictionary

DECIMALS = {
    "d2 decimal(2, 1)": ("9.9m", "-9.9m", "0m"),
    "d4 decimal(4, 4)": ("0.9999m", "-0.9999m", "0.0001m"),
    "d9 decimal(9, 0)": ("999999999m", "-999999999m", "1m"),
    "d18 decimal(18, 6)": ("999999999999.999999m", "-999999999999.999999m", "0.000001m"),
    "d38 decimal(38, 5)": ("9" * 33 + ".99999m", "-" + "9" * 33 + ".99999m", "0.00001m"),
    "d76 decimal(76, 10)": ("9" * 66 + ".9999999999m", "-" + "9" * 66 + ".9999999999m", "18446744073709551616m"),
}


def test_every_type_has_its_arrow_type_and_the_values_of_the_server(server: Server) -> None:
    """[QDB-TY-1], [QDB-TY-2]."""
    name = server.name("types")
    create_with_all_types(server, name)
    table = check(server, name)
    assert table.num_rows == 401
    expected = [(declared.split()[0], arrow) for declared, (_, arrow) in ALL.items()]
    assert [(f.name, f.type) for f in table.schema] == [*expected, ("ts", pa.timestamp("us", "UTC"))]
    assert [f.name for f in table.schema if not f.nullable] == ["b", "by", "sh", "ts"]
    assert {f.name for f in table.schema if table[f.name].null_count} == {
        name for name, _ in expected if name not in ("b", "by", "sh")
    }


def test_binaries_are_the_bytes_of_the_server(server: Server) -> None:
    """[QDB-TY-2]."""
    name = server.name("binaries")
    server.exec(f"create table {name} (bi binary, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select rnd_bin(1, 3000, 2), x::timestamp from long_sequence(300)")
    texts = [row[0] for row in server.select(f"select base64(bi, 10000) from {name}")]
    values = open_table(server.database / name).to_arrow(["bi"])["bi"].to_pylist()
    assert [None if v is None else base64.b64encode(v).decode() for v in values] == texts
    assert None in values


def test_numbers_have_their_edges(server: Server) -> None:
    """[QDB-TY-3]: the least integers and what is not finite are null."""
    name = server.name("edges")
    server.exec(
        f"create table {name} (by byte, sh short, i int, l long, f float, d double, ts timestamp)"
        " timestamp(ts) partition by day wal"
    )
    server.run(
        name,
        f"insert into {name} values"
        " (127, 32767, 2147483647, 9223372036854775807, 3.4e38f, 1.7976931348623157e308, 0),"
        " (-128, -32768, -2147483647, -9223372036854775807, -3.4e38f, 4.9e-324, 1),"
        " (0, 0, null, null, null, null, 2),"
        " (0, 0, 0, 0, cast('Infinity' as float), cast('Infinity' as double), 3),"
        " (0, 0, 0, 0, cast('-Infinity' as float), cast('-Infinity' as double), 4),"
        " (1, 1, 16777217, 9007199254740993, 0.1f, 0.1, 5)",
    )
    table = check(server, name)
    assert table["d"].to_pylist()[2:5] == [None] * 3
    assert table["f"].null_count == 3
    assert server.select(f"select count() from {name} where d is null") == [[3]]


def test_texts_have_their_edges(server: Server) -> None:
    """[QDB-TY-4]: empty text is not null; text of all lengths around the inlined ones, of all widths of UTF-8."""
    name = server.name("texts")
    server.exec(
        f"create table {name} (c char, s string, v varchar, sy symbol, ts timestamp) timestamp(ts) partition by day wal"
    )
    texts = ["", *("x" * n for n in range(1, 16)), *("é" * n for n in range(1, 8)), "€" * 3, "😀", "😀😀😀"]
    rows = ", ".join(f"('{t[:1] if t[:1] != '😀' else ''}', '{t}', '{t}', '{t}', {i})" for i, t in enumerate(texts))
    server.run(
        name,
        f"insert into {name} values {rows}",
        f"insert into {name} values (null, null, null, null, 900)",
        f"insert into {name} values ('z', 'z', 'a text that is not inlined', 'z', 901)",
    )
    table = check(server, name)
    for column in ("s", "v", "sy"):
        assert table[column].to_pylist()[: len(texts)] == texts
        assert table[column].to_pylist()[len(texts)] is None


def test_wide_values_have_their_edges(server: Server) -> None:
    """[QDB-TY-5]."""
    name = server.name("wide")
    server.exec(
        f"create table {name} (u uuid, ip ipv4, n long256, g geohash(4b), a double[], m double[][], ts timestamp)"
        " timestamp(ts) partition by day wal"
    )
    highest = "0x" + "f" * 64
    server.run(
        name,
        f"insert into {name} values"
        " ('00000000-0000-0000-0000-000000000000', '0.0.0.1', 0x00, ##0000, array[]::double[], array[[],[]], 0),"
        f" ('ffffffff-ffff-ffff-ffff-ffffffffffff', '255.255.255.255', {highest}, ##1111, array[1.0], array[[1.0]], 1),"
        " ('00000000-0000-0001-0000-000000000002', '10.9.100.99', 0x0100, ##0101, array[null, 'NaN'::double], null, 2),"
        " ('80000000-0000-0000-0000-000000000000', '1.2.3.4', 0x80, null, null, array[[1.0, 2, 3], [4, 5, 6]], 3),"
        " (null, null, null, null, null, null, 4)",
    )
    table = check(server, name)
    assert table["n"].to_pylist() == ["0x00", highest, "0x0100", "0x80", None]
    assert table["a"].to_pylist() == [[], [1.0], [None, None], None, None]
    assert table["m"].to_pylist()[3] == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_decimals_of_all_widths(server: Server) -> None:
    """[QDB-TY-6]."""
    name = server.name("decimals")
    server.exec(f"create table {name} ({', '.join(DECIMALS)}, ts timestamp) timestamp(ts) partition by day wal")
    for position, row in enumerate(zip(*DECIMALS.values(), strict=True)):
        server.exec(f"insert into {name} values ({', '.join(row)}, {position})")
    server.exec(f"insert into {name} (ts) values (9)")
    table = check(server, name)
    assert [str(t) for t in table.schema.types[:-1]] == [
        "decimal128(2, 1)", "decimal128(4, 4)", "decimal128(9, 0)", "decimal128(18, 6)", "decimal128(38, 5)",
        "decimal256(76, 10)",
    ]  # fmt: skip
    assert [column.null_count for column in table.columns[:-1]] == [1] * 6


@pytest.mark.parametrize(
    "code",
    [
        0, 15, 20, 34, 255,
        8 | 1 << 19,  # a timestamp of an unknown unit
        28 | 3 << 8,  # three digits in one byte
        33 | 2 << 8 | 1 << 16,  # decimals of one byte in the numbers of another release
        27 | 6 << 8,  # an array of LONG
        14 | 8 << 8 | 1 << 16,  # eight bits in one byte
    ],
)  # fmt: skip
def test_unknown_types_are_refused(code: int) -> None:
    """[QDB-TY-7]."""
    with pytest.raises(UnsupportedTypeError, match=r"c.*type code"):
        column_type(code, "c")


def test_symbols_of_all_arrays_have_one_dictionary() -> None:
    """[QDB-TY-8]."""
    nothing = pa.nulls(2, pa.dictionary(pa.int32(), pa.utf8()))
    first = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int32()), pa.array(["a", ""]))
    grown = pa.DictionaryArray.from_arrays(pa.array([2, 2, 1], pa.int32()), pa.array(["a", "", "c"]))
    other = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 2], pa.int32()), pa.array(["c", "z", ""]))
    arrays = [nothing, first, grown, other, first.slice(1)]
    found = one_dictionary(arrays)
    assert [a.to_pylist() for a in found] == [a.to_pylist() for a in arrays]
    assert {tuple(a.dictionary.to_pylist()) for a in found} == {("a", "", "c", "z")}
    for array in found:
        array.validate(full=True)
    assert one_dictionary([]) == []


def test_keys_of_null_are_within_the_dictionary() -> None:
    """[QDB-TY-8]: Arrow looks up the keys of null rows too."""
    keys = pa.py_buffer(np.array([0, np.iinfo(np.int32).min, 1], np.int32))
    values = symbol_values(keys, pa.array(["a", "b"]), "sy.d")
    assert values.to_pylist() == ["a", None, "b"]
    assert np.frombuffer(values.indices.buffers()[1], np.int32).tolist() == [0, 0, 1]
