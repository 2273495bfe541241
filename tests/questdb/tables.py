"""Tables that several tests create."""

from __future__ import annotations

import pyarrow as pa

from tests.questdb.server import Server

#: The types of a table with all types, the values of a random row, and the Arrow types.
ALL = {
    "b boolean": ("rnd_boolean()", pa.bool_()),
    "by byte": ("rnd_byte()", pa.int8()),
    "sh short": ("rnd_short()", pa.int16()),
    "ch char": ("rnd_char()", pa.utf8()),
    "i int": ("rnd_int(-5, 5, 3)", pa.int32()),
    "l long": ("rnd_long(-9000000000, 9000000000, 3)", pa.int64()),
    "d date": ("rnd_date(to_date('1950', 'yyyy'), to_date('2050', 'yyyy'), 3)", pa.timestamp("ms", "UTC")),
    "t timestamp": ("rnd_timestamp('1990', '2030', 3)", pa.timestamp("us", "UTC")),
    "tn timestamp_ns": ("rnd_long(0, 1700000000123456789L, 3)::timestamp_ns", pa.timestamp("ns", "UTC")),
    "f float": ("rnd_float(3)", pa.float32()),
    "dbl double": ("rnd_double(3)", pa.float64()),
    "s string": ("rnd_str(1, 40, 3)", pa.utf8()),
    "sy symbol": ("rnd_symbol('a', 'long symbol', '', 'é€😀', null)", pa.dictionary(pa.int32(), pa.utf8())),
    "l256 long256": ("rnd_long256()", pa.utf8()),
    "g1 geohash(1b)": ("rnd_geohash(1)", pa.utf8()),
    "g7 geohash(7b)": ("rnd_geohash(7)", pa.utf8()),
    "g8 geohash(8b)": ("rnd_geohash(8)", pa.utf8()),
    "g3c geohash(3c)": ("rnd_geohash(15)", pa.utf8()),
    "g31 geohash(31b)": ("rnd_geohash(31)", pa.utf8()),
    "g5c geohash(5c)": ("rnd_geohash(25)", pa.utf8()),
    "g59 geohash(59b)": ("rnd_geohash(59)", pa.utf8()),
    "g12c geohash(12c)": ("rnd_geohash(60)", pa.utf8()),
    "bi binary": ("rnd_bin(1, 50, 3)", pa.binary()),
    "u uuid": ("rnd_uuid4(3)", pa.utf8()),
    "ip ipv4": ("rnd_ipv4('0.0.0.0/0', 3)", pa.utf8()),
    "v varchar": ("rnd_varchar(1, 25, 3)", pa.utf8()),
    "a double[]": ("rnd_double_array(1, 4)", pa.list_(pa.float64())),
    "a3 double[][][]": (
        "array[[[x::double, 0.5], [rnd_double(), null]], [[1.0, 2.0], [3.0, x * 2.0]]]",
        pa.list_(pa.list_(pa.list_(pa.float64()))),
    ),
}


def create_numbers(server: Server, prefix: str, *, rows: int = 500, columns: str = "x long, ts timestamp") -> str:
    """Create a table with a hundred numbers ``x`` on each day, and return its name; more columns are timestamps."""
    name = server.name(prefix)
    server.exec(f"create table {name} ({columns}) timestamp(ts) partition by day wal")
    values = "x, (x * 864000000L)::timestamp" + ", (x * 1000)::timestamp" * (columns.count(",") - 1)
    server.run(name, f"insert into {name} select {values} from long_sequence({rows})")
    return name


def create_with_all_types(server: Server, name: str, rows: int = 200) -> None:
    """Create a table with all types but DECIMAL and random values, of two partitions."""
    server.exec(f"create table {name} ({', '.join(ALL)}, ts timestamp) timestamp(ts) partition by day wal")
    values = ", ".join(value for value, _ in ALL.values())
    server.run(
        name,
        f"insert into {name} select {values}, (x * 1000000)::timestamp from long_sequence({rows})",
        f"insert into {name} (ts) values ('1970-01-01T12:00:00Z')",
        f"insert into {name} select {values}, (86400000000 + x)::timestamp from long_sequence({rows})",
    )
