"""Random tables that a server writes and changes, and their comparison with what the server selects."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.questdb.server import Server, SqlError
from tests.questdb.values import check, compare
from xskip.errors import TableDamagedError
from xskip.questdb.table import Table, open_table

__all__ = ["RandomTable"]

_UNIT_SECONDS = {"HOUR": 3600, "DAY": 86_400, "WEEK": 604_800, "MONTH": 2_592_000, "YEAR": 31_536_000}
#: Values of a random row by column type.
_VALUES = {
    "boolean": "rnd_boolean()",
    "byte": "rnd_byte()",
    "short": "rnd_short()",
    "char": "rnd_char()",
    "int": "rnd_int(-9, 9, 3)",
    "long": "rnd_long(-9, 99999999999, 3)",
    "date": "rnd_date(to_date('1950', 'yyyy'), to_date('2050', 'yyyy'), 3)",
    "float": "rnd_float(3)",
    "double": "rnd_double(3)",
    "string": "rnd_str(1, 20, 3)",
    "symbol": "rnd_symbol('a', 'bb', '', null)",
    "symbol index": "rnd_symbol(4, 1, 8, 2)",
    "varchar": "rnd_varchar(1, 20, 3)",
    "long256": "rnd_long256()",
    "geohash(3c)": "rnd_geohash(15)",
    "binary": "rnd_bin(1, 20, 3)",
    "uuid": "rnd_uuid4(3)",
    "ipv4": "rnd_ipv4('0.0.0.0/0', 3)",
    "double[]": "rnd_double_array(1, 4)",
}
_NOT_UPDATED = ("binary", "double[]", "long256")
_CONVERSIONS = {
    "int": ("long", "double", "varchar"),
    "string": ("varchar", "symbol"),
    "varchar": ("string", "symbol"),
    "symbol": ("varchar", "string"),
    "float": ("double", "string"),
    "byte": ("int", "long"),
}


class RandomTable:
    """A table with random columns, and random steps in its life."""

    def __init__(self, server: Server, seed: int) -> None:
        self.server = server
        self.random = random.Random(seed)
        self.name = server.name("random")
        self.wal = self.random.random() < 0.8
        self.unit = self.random.choice(list(_UNIT_SECONDS))
        self.columns: dict[str, str] = {}
        self.names: list[str] = []
        self.deduplicated = False
        server.exec(
            f"create table {self.name} (x long, ts timestamp) timestamp(ts) partition by {self.unit}"
            f" {'wal' if self.wal else 'bypass wal'}"
        )
        for _ in range(self.random.randrange(2, 7)):
            self.add_column()
        self.insert()

    @property
    def opened(self) -> Table:
        return open_table(self.server.database / self.name)

    def run(self, statement: str) -> str:
        self.server.run(self.name, statement)
        return statement

    def step(self) -> str:
        """Take a random step, and return its statement."""
        steps = [self.insert, self.insert, self.add_column, self.rename, self.drop_column, self.update, self.convert]
        steps += [self.change_type, self.drop_partition]
        if self.wal:
            steps += [self.squash, self.deduplicate]
        return self.random.choice(steps)()

    def insert(self) -> str:
        rows = self.random.choice([1, 7, 400, 3000])
        span = _UNIT_SECONDS[self.unit] * 3_000_000
        start, step = self.random.randrange(span), self.random.choice([0, 1, 1000, span // rows // 4])
        values = ", ".join(_VALUES[kind] for kind in self.columns.values())
        names = "".join(f", {name}" for name in self.columns)
        return self.run(
            f"insert into {self.name} (x, ts{names}) select x, ({start} + x * {step})::timestamp"
            f"{', ' if values else ''}{values} from long_sequence({rows})"
        )

    def add_column(self) -> str:
        name, kind = self.free_name(), self.random.choice(list(_VALUES))
        self.columns[name] = kind
        return self.run(f"alter table {self.name} add column {name} {kind}")

    def rename(self) -> str:
        return self.on_column("rename column {column} to {new}", self.new_name)

    def drop_column(self) -> str:
        return self.on_column("drop column {column}", lambda name: str(self.columns.pop(name)))

    def on_column(self, action: str, change: Callable[[str], str]) -> str:
        if not self.columns:
            return self.insert()
        name = self.random.choice(list(self.columns))
        return self.run(f"alter table {self.name} {action.format(column=name, new=change(name))}")

    def free_name(self) -> str:
        """Return a name that no column has, at times one that a column had."""
        former = [name for name in self.names if name not in self.columns]
        if former and self.random.random() < 0.2:
            return self.random.choice(former)
        self.names.append(f"c{len(self.names) + 1}")
        return self.names[-1]

    def new_name(self, name: str) -> str:
        new = self.free_name()
        self.columns = {(new if key == name else key): kind for key, kind in self.columns.items()}
        return new

    def change_type(self) -> str:
        known = [name for name, kind in self.columns.items() if kind in _CONVERSIONS]
        if not known:
            return self.add_column()
        name = self.random.choice(known)
        self.columns[name] = self.random.choice(_CONVERSIONS[self.columns[name]])
        return self.run(f"alter table {self.name} alter column {name} type {self.columns[name]}")

    def update(self) -> str:
        name = self.random.choice([n for n, kind in self.columns.items() if kind not in _NOT_UPDATED] or ["x"])
        value = _VALUES[self.columns[name]] if name in self.columns else "-x"
        return self.run(f"update {self.name} set {name} = {value} where x % {self.random.randrange(1, 5)} = 0")

    def convert(self) -> str:
        """Convert all partitions but the last to Parquet and back, and compare the rows of both."""
        before = self.opened.to_arrow()
        statement = f"alter table {self.name} convert partition to parquet where ts >= 0"
        self.run(statement)
        found = self.opened.to_arrow()
        self.with_parquet()
        assert found.schema == before.schema
        assert [c.to_pylist() for c in found.columns] == [c.to_pylist() for c in before.columns], statement
        return self.run(f"alter table {self.name} convert partition to native where ts >= 0")

    def with_parquet(self) -> None:
        """Look at the table while it has Parquet partitions."""

    def squash(self) -> str:
        return self.run(f"alter table {self.name} squash partitions")

    def deduplicate(self) -> str:
        self.deduplicated = not self.deduplicated
        return self.run(f"alter table {self.name} dedup {'enable upsert keys(ts)' if self.deduplicated else 'disable'}")

    def drop_partition(self) -> str:
        statement = f"alter table {self.name} drop partition where ts < {_UNIT_SECONDS[self.unit]}000000::timestamp"
        with suppress(SqlError):  # there is no such partition
            self.run(statement)
        return statement

    def compare(self) -> bool:
        """Compare all rows and a range; return False if the server has spoilt its table, so that nobody can read it."""
        # geohashes that were null in a Parquet partition are others after the server converted it back
        shown = [
            "x",
            "ts",
            *(name for name, kind in self.columns.items() if not kind.startswith("geo") and kind != "ipv4"),
        ]
        columns = ", ".join(shown)
        try:
            table = check(self.server, self.name, columns=columns)
            if table.num_rows:
                times = table["ts"].cast("int64")
                start, end = sorted(times[self.random.randrange(table.num_rows)].as_py() for _ in range(2))
                found = self.opened.to_arrow(shown, start, end)
                where = f"ts >= {start}::timestamp and ts < {end}::timestamp"
                compare(self.server, found, f"select {columns} from {self.name} where {where}")
        except TableDamagedError:
            with pytest.raises(SqlError):
                self.server.select(f"select * from {self.name}")
            return False
        return True
