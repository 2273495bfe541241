"""Reads of the rows that came after a token, after each operation of a server [QDB-TK]."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import xskip.questdb
from tests.effort import cases
from tests.questdb.copies import copy_table
from tests.questdb.server import Server
from xskip.errors import DatasetError, PredicateError
from xskip.questdb_files import Table
from xskip.questdb_files.table_state import Ending, TableState
from xskip.token_text import TokenForm

_DAY = 86_400_000_000
_ALL = "x long, s symbol, v varchar, ts timestamp"
_VALUES = "x, 's' || x % 3, 'v' || x"


class Grown:
    """A table of a server, whose rows have different numbers ``x``."""

    def __init__(self, server: Server, options: str = "partition by day wal", columns: str = _ALL) -> None:
        self.server, self.name = server, server.name("grown")
        self._number = 0
        server.exec(f"create table {self.name} ({columns}) timestamp(ts) {options}")

    @property
    def table(self) -> Table:
        return xskip.questdb.open(self.server.folder(self.name))

    def run(self, *statements: str) -> None:
        self.server.run(self.name, *(each.format(t=self.name) for each in statements))

    def insert(self, start: int, rows: int = 5, step: int = 1_000_000) -> list[int]:
        """Insert rows from a time in microseconds on, and return their numbers."""
        first = self._number
        self._number += rows
        values = _VALUES.replace("x", f"({first} + x)")
        time = f"({start} + x * {step})::timestamp"
        self.run(f"insert into {{t}} (x, s, v, ts) select {values}, {time} from long_sequence({rows})")
        return list(range(first + 1, first + rows + 1))

    def days(self, count: int = 3, rows: int = 20) -> None:
        for day in range(count):
            self.insert(day * _DAY, rows)


def numbers(table: Table, *arguments: object) -> list[int]:
    """Return the numbers of the rows that all kinds of reads give, in order."""
    found: list[int] = table.to_arrow("x", *arguments)["x"].to_pylist()  # type: ignore[arg-type]
    assert table.to_batches("x", *arguments, batch_rows=3).read_all()["x"].to_pylist() == found  # type: ignore[arg-type]
    assert table.count(*arguments) == len(found)  # type: ignore[arg-type]
    return found


def times(table: Table) -> dict[int, int]:
    """Return the times of rows by their numbers, in microseconds."""
    found = table.to_arrow(["x", "ts"])
    return dict(zip(found["x"].to_pylist(), found["ts"].cast(pa.int64()).to_pylist(), strict=True))


@pytest.fixture
def grown(each_server: Server) -> Grown:
    found = Grown(each_server)
    found.days()
    return found


def test_rows_that_are_appended(grown: Grown) -> None:
    """[QDB-TK-1] [QDB-TK-2] To the last partition, and to later ones."""
    tokens = [grown.table.token()]
    inserted = [grown.insert(2 * _DAY + 60_000_000), grown.insert(2 * _DAY + 80_000_000), grown.insert(4 * _DAY)]
    tokens += [grown.table.token()]
    inserted += [grown.insert(5 * _DAY)]
    later = [x for part in inserted[:3] for x in part]
    assert numbers(grown.table.new_rows(tokens[0])) == later + inserted[3]
    assert numbers(grown.table.new_rows(tokens[0], tokens[1])) == later
    assert numbers(grown.table.new_rows(until=tokens[0])) == list(range(1, 61))
    assert numbers(grown.table.new_rows(tokens[0]), "1970-01-03T00:01:20", "1970-01-05T00:00:03") == (
        inserted[1] + inserted[2][:2]
    )
    assert numbers(grown.table.new_rows(grown.table.token())) == []
    assert grown.table.new_rows().to_arrow().equals(grown.table.to_arrow())
    whole = grown.table.to_arrow()
    assert grown.table.new_rows(tokens[1]).to_arrow().to_pylist() == whole.slice(75).to_pylist()


def test_rows_with_the_last_time(grown: Grown) -> None:
    """[QDB-TK-4] A row with the time of the last row comes after it."""
    time = 2 * _DAY + 20_000_000
    token = grown.table.token()
    assert numbers(grown.table.new_rows(token)) == []
    first = grown.insert(time - 1_000_000, 1)
    middle = grown.table.token()
    second = grown.insert(time, 3, step=0)
    assert numbers(grown.table.new_rows(token)) == first + second
    assert numbers(grown.table.new_rows(middle)) == second
    assert numbers(grown.table.new_rows(token, middle)) == first


@pytest.mark.parametrize(
    "statements",
    [
        ["alter table {t} convert partition to parquet where ts < '1970-01-03'"],
        [
            "alter table {t} convert partition to parquet where ts < '1970-01-03'",
            "alter table {t} convert partition to native where ts < '1970-01-02'",
        ],
        ["alter table {t} add column more long"],
        ["alter table {t} rename column s to other"],
        ["alter table {t} rename column s to other", "alter table {t} rename column other to s"],
        ["alter table {t} alter column v type symbol", "alter table {t} drop column s"],
        ["alter table {t} drop partition list '1970-01-01'"],
        [
            "alter table {t} drop partition list '1970-01-01'",
            "alter table {t} convert partition to parquet list '1970-01-02'",
        ],
        ["alter table {t} alter column s add index"],
    ],
)
def test_changes_that_add_no_rows(grown: Grown, statements: list[str]) -> None:
    """[QDB-TK-3]"""
    token = grown.table.token()
    grown.run(*statements)
    assert numbers(grown.table.new_rows(token)) == []
    before = set(numbers(grown.table))
    values = "x + 1000, (259200000000L + x)::timestamp from long_sequence(4)"
    grown.run(f"insert into {{t}} (x, ts) select {values}")
    assert numbers(grown.table.new_rows(token)) == [1001, 1002, 1003, 1004]
    assert set(numbers(grown.table.new_rows(until=token))) == before


def test_rows_appended_before_a_conversion(grown: Grown) -> None:
    """[QDB-TK-4] The rows of the token are the first ones, also of a partition that was converted."""
    token = grown.table.token()
    added = grown.insert(_DAY + 60_000_000) + grown.insert(2 * _DAY + 60_000_000)
    grown.insert(3 * _DAY)
    grown.run("alter table {t} convert partition to parquet where ts < '1970-01-04'")
    assert numbers(grown.table.new_rows(token), 0, 3 * _DAY) == added
    added += grown.insert(_DAY + 70_000_000)
    assert sorted(numbers(grown.table.new_rows(token), 0, 3 * _DAY)) == added


@pytest.mark.parametrize("time", [500_000, 1_500_000, 19_500_000])
def test_rows_that_are_merged(grown: Grown, time: int) -> None:
    """[QDB-TK-4] [QDB-TK-6] The error names the partition, and the others can be read."""
    token = grown.table.token()
    rows = grown.insert(_DAY + time - 1, 2, step=1), grown.insert(4 * _DAY)
    restricted = grown.table.new_rows(token)
    for read in (restricted.to_arrow, restricted.to_batches().read_all, restricted.count):
        with pytest.raises(
            DatasetError, match=r"rows were merged .*partition 1970-01-02.*start='1970-01-02T00:00:00', end="
        ):
            read()
    assert numbers(restricted, "1970-01-03T00:00:00") == rows[1]
    assert numbers(restricted, None, "1970-01-02T00:00:00") == []
    assert set(rows[0]) <= set(numbers(grown.table, "1970-01-02T00:00:00", "1970-01-03T00:00:00"))
    assert numbers(grown.table.new_rows(grown.table.token())) == []


def test_rows_that_are_merged_into_partitions_without_endings(each_server: Server) -> None:
    """[QDB-TK-4] The token has the last rows of the last 16 partitions."""
    grown = Grown(each_server)
    grown.days(18, 4)
    token = grown.table.token()
    late = [grown.insert(day * _DAY + 60_000_000, 2) for day in (0, 2)]
    assert numbers(grown.table.new_rows(token), "1970-01-02") == late[1]
    with pytest.raises(DatasetError, match=r"rows were merged .*partition 1970-01-01"):
        grown.table.new_rows(token).to_arrow()


def test_filters_of_new_rows(grown: Grown) -> None:
    """[QDB-TK-8] A filter that rules out the piece with the last former row does not leave out its proof."""
    token = grown.table.token()
    added = grown.insert(2 * _DAY + 60_000_000) + grown.insert(3 * _DAY)
    restricted = grown.table.new_rows(token)
    assert restricted.to_arrow("x", filter=pc.field("x") > added[2])["x"].to_pylist() == added[3:]
    assert restricted.to_arrow("x", filter=pc.field("x") <= added[0])["x"].to_pylist() == added[:1]
    late = dt.datetime(1970, 1, 4, tzinfo=dt.timezone.utc)
    assert restricted.to_batches("x", filter=pc.field("ts") > late).read_all()["x"].to_pylist() == added[5:]
    grown.insert(_DAY, 1)
    assert len(restricted.to_arrow("x", filter=pc.field("ts") > late)) == 5
    with pytest.raises(DatasetError, match="rows were merged"):
        restricted.to_arrow("x", filter=pc.field("x") > 0)


def test_updates(grown: Grown) -> None:
    """[QDB-TK-5]"""
    token = grown.table.token()
    grown.run("update {t} set v = 'new' where ts in '1970-01-02'")
    added = grown.insert(3 * _DAY)
    with pytest.raises(DatasetError, match=r"as by an update .*partition 1970-01-02"):
        grown.table.new_rows(token).to_arrow()
    assert numbers(grown.table.new_rows(token), "1970-01-03") == added


def test_rows_that_replace_others(each_server: Server) -> None:
    """[QDB-TK-5] With deduplication, only appends are told from replacements."""
    grown = Grown(each_server, "partition by day wal dedup upsert keys(ts)")
    grown.days(2)
    token = grown.table.token()
    added = grown.insert(_DAY + 60_000_000) + grown.insert(2 * _DAY)
    assert numbers(grown.table.new_rows(token)) == added
    grown.insert(_DAY, 3)
    with pytest.raises(DatasetError, match=r"replaced .*partition 1970-01-02"):
        grown.table.new_rows(token).to_arrow()
    assert len(numbers(grown.table.new_rows(token), "1970-01-03")) == 5


def test_conversions_of_tables_with_deduplication(each_server: Server) -> None:
    """[QDB-TK-5] A conversion alone replaces no rows."""
    grown = Grown(each_server, "partition by day wal dedup upsert keys(ts)")
    grown.days(4)
    token = grown.table.token()
    grown.run("alter table {t} convert partition to parquet list '1970-01-02'")
    assert numbers(grown.table.new_rows(token)) == []
    grown.run("alter table {t} drop partition list '1970-01-01'")
    added = grown.insert(3 * _DAY + 60_000_000)
    assert numbers(grown.table.new_rows(token)) == added
    second = grown.table.token()
    grown.insert(2 * _DAY, 3)
    grown.run("alter table {t} convert partition to parquet list '1970-01-03'")
    with pytest.raises(DatasetError, match=r"replaced .*partition 1970-01-03"):
        grown.table.new_rows(second).to_arrow()
    third = grown.table.token()
    grown.run("alter table {t} convert partition to native list '1970-01-02'")
    grown.insert(4 * _DAY)
    with pytest.raises(DatasetError, match=r"replaced .*partition 1970-01-02"):
        grown.table.new_rows(third).to_arrow()


def test_partitions_that_are_attached_again(grown: Grown) -> None:
    """[QDB-TK-5]"""
    token = grown.table.token()
    grown.run("alter table {t} detach partition list '1970-01-02'")
    assert numbers(grown.table.new_rows(token)) == []
    attach(grown, "1970-01-02")
    with pytest.raises(DatasetError, match=r"dropped and written again .*partition 1970-01-02"):
        grown.table.new_rows(token).to_arrow()


def attach(grown: Grown, day: str) -> None:
    """Attach the partition that was detached."""
    (folder,) = grown.server.folder(grown.name).glob("*.detached")
    folder.rename(folder.with_suffix(".attachable"))
    grown.run(f"alter table {{t}} attach partition list '{day}'")


ATTACHED = r"attached after the token.*partition 1970-01-02.*start='1970-01-02T00:00:00'"


@pytest.mark.parametrize("change", ["", "append", "merge", "parquet", "drop another"])
def test_partitions_that_were_detached_before_the_token(grown: Grown, change: str) -> None:
    """[QDB-TK-9] Their rows may have been returned before."""
    grown.run("alter table {t} detach partition list '1970-01-02'")
    token = grown.table.token()
    added = grown.insert(2 * _DAY + 60_000_000)
    attach(grown, "1970-01-02")
    match change:
        case "append":
            grown.insert(_DAY + 60_000_000)
        case "merge":
            grown.insert(_DAY + 500_000)
        case "parquet":
            grown.run("alter table {t} convert partition to parquet list '1970-01-02'")
        case "drop another":
            grown.run("alter table {t} drop partition list '1970-01-01'")
    until = grown.table.token()
    for restricted in (grown.table.new_rows(token), grown.table.new_rows(token, until)):
        with pytest.raises(DatasetError, match=ATTACHED):
            restricted.to_arrow()
        assert numbers(restricted, "1970-01-03") == added
    assert len(numbers(grown.table, "1970-01-02", "1970-01-03")) in (20, 25)
    assert numbers(grown.table.new_rows(until)) == []
    later = numbers(grown.table.new_rows(until=token))
    assert not set(later) & set(range(21, 41))


def test_a_partition_that_is_attached_after_all_others(grown: Grown) -> None:
    """[QDB-TK-9] Its control files tell."""
    grown.run("alter table {t} detach partition list '1970-01-02'")
    grown.run("alter table {t} drop partition list '1970-01-03'")
    token = grown.table.token()
    attach(grown, "1970-01-02")
    with pytest.raises(DatasetError, match=ATTACHED):
        grown.table.new_rows(token).to_arrow()


def test_partitions_between_others(grown: Grown) -> None:
    """[QDB-TK-9] Rows in a new partition before others are new, if no partition was attached."""
    grown.insert(5 * _DAY)
    token = grown.table.token()
    grown.run("alter table {t} drop partition list '1970-01-01', '1970-01-02'")
    added = grown.insert(3 * _DAY)
    assert numbers(grown.table.new_rows(token)) == added
    later = grown.insert(7 * _DAY)
    grown.run("alter table {t} set ttl 4 days")
    grown.insert(8 * _DAY, 1)
    assert set(later) <= set(numbers(grown.table.new_rows(token), "1970-01-06"))


@pytest.mark.parametrize("options", ["partition by day wal", "partition by day bypass wal"])
@pytest.mark.parametrize(
    ("statement", "removed"),
    [
        ("drop partition list '1970-01-01'", 1),
        ("drop partition list '1970-01-01', '1970-01-03', '1970-01-06'", 3),
        ("drop partition where ts < '1970-01-04'", 3),
        ("detach partition list '1970-01-02', '1970-01-03'", 2),
        ("set ttl 2 days", 3),
    ],
)
def test_versions_after_removals(each_server: Server, options: str, statement: str, removed: int) -> None:
    """[QDB-TK-5] A server counts each removed partition, however many a statement removes."""
    grown = Grown(each_server, options)
    grown.days(6, 5)
    token = grown.table.token()
    grown.run(f"alter table {{t}} {statement}")
    then, now = (TableState.parse(text, "since", "") for text in (token, grown.table.token()))
    assert len(then.partitions) - len(now.partitions) == removed
    assert now.truncate_version - then.truncate_version == removed
    assert now.partition_version - then.partition_version == removed
    # so that what is left, and changes its pieces only, has no new rows
    grown.run("alter table {t} convert partition to parquet list '1970-01-04'")
    added = grown.insert(6 * _DAY)
    assert numbers(grown.table.new_rows(token)) == added


def test_versions_after_an_attachment(grown: Grown) -> None:
    """[QDB-TK-9]"""
    grown.run("alter table {t} detach partition list '1970-01-02'")
    token = grown.table.token()
    attach(grown, "1970-01-02")
    then, now = (TableState.parse(text, "since", "") for text in (token, grown.table.token()))
    assert now.truncate_version - then.truncate_version == 1


def test_a_split_partition_that_is_removed(each_server: Server) -> None:
    """[QDB-TK-5] A server counts its pieces, as it counts partitions that are written again."""
    grown = Grown(each_server)
    grown.days(2, 5)
    grown.insert(2 * _DAY, 8000, step=10_000_000)
    grown.insert(2 * _DAY + 60_000_000_000, 10, step=10)
    token = grown.table.token()
    pieces = len(grown.table.pieces) - 2
    grown.run("alter table {t} drop partition list '1970-01-03'")
    now = TableState.parse(grown.table.token(), "since", "")
    assert now.truncate_version - TableState.parse(token, "since", "").truncate_version == pieces > 1
    assert numbers(grown.table.new_rows(token)) == []
    grown.run("alter table {t} convert partition to parquet list '1970-01-01'")
    added = grown.insert(_DAY + 60_000_000)
    with pytest.raises(DatasetError, match=r"dropped and written again .*partition 1970-01-01"):
        grown.table.new_rows(token).to_arrow()
    assert numbers(grown.table.new_rows(token), "1970-01-02") == added


def test_tables_that_begin_again(each_server: Server) -> None:
    """[QDB-TK-5] Truncated, dropped, and partitions that were dropped and written again."""
    grown = Grown(each_server)
    grown.days()
    token = grown.table.token()
    grown.run("alter table {t} drop partition list '1970-01-02'")
    grown.insert(_DAY, 20)
    with pytest.raises(DatasetError, match=r"dropped and written again .*partition 1970-01-02"):
        grown.table.new_rows(token).to_arrow()
    assert numbers(grown.table.new_rows(token), "1970-01-03") == []
    later = grown.table.token()
    grown.run("truncate table {t}")
    with pytest.raises(DatasetError, match="truncated after the token since"):
        grown.table.new_rows(later).to_arrow()
    grown.days()
    with pytest.raises(DatasetError, match="truncated after the token until"):
        grown.table.new_rows(until=later).count()
    last = grown.table.token()
    grown.server.exec(f"drop table {grown.name}")
    again = Grown(each_server)
    again.days()
    with pytest.raises(PredicateError, match="another table, or the table was created again"):
        again.table.new_rows(last).to_arrow()


def test_fewer_rows(grown: Grown) -> None:
    """[QDB-TK-5] A partition that was dropped and has fewer rows since."""
    token = grown.table.token()
    grown.run("alter table {t} drop partition list '1970-01-02'")
    grown.insert(_DAY, 3)
    with pytest.raises(DatasetError, match=r"fewer rows .*partition 1970-01-02"):
        grown.table.new_rows(token).to_arrow()


def test_splits_and_squashes(each_server: Server) -> None:
    """[QDB-TK-3] [QDB-TK-4] Pieces of a partition count together."""
    grown = Grown(each_server)
    grown.insert(0, 8000, step=10_000_000)
    start = grown.table.token()
    grown.insert(60_000_000_000, 10, step=10)
    assert len(grown.table.pieces) == 2
    split = grown.table.token()
    with pytest.raises(DatasetError, match="rows were merged"):
        grown.table.new_rows(start).to_arrow()
    added = grown.insert(80_000_000_000, 10)
    assert numbers(grown.table.new_rows(split)) == added
    grown.insert(30_000_000_000, 2, step=10)
    assert len(grown.table.pieces) > 1
    for bounds in ((0, 50_000_000_000), (70_000_000_000, None)):  # also in a range without the last piece
        with pytest.raises(DatasetError, match="rows were merged"):
            grown.table.new_rows(split).to_arrow("x", *bounds)
    split, added = grown.table.token(), grown.insert(80_020_000_000, 10)
    grown.run("alter table {t} squash partitions")
    assert len(grown.table.pieces) == 1
    assert numbers(grown.table.new_rows(split)) == added
    squashed = grown.table.token()
    grown.insert(70_000_000_000, 10, step=10)
    assert len(grown.table.pieces) == 2
    with pytest.raises(DatasetError, match="rows were merged"):
        grown.table.new_rows(squashed).to_arrow()


@pytest.mark.parametrize("options", ["", "partition by day bypass wal"])
def test_tables_without_a_log(each_server: Server, options: str) -> None:
    """[QDB-TK-2] Also tables without partitions, into which no rows are merged."""
    grown = Grown(each_server, options)
    grown.insert(0)
    token = grown.table.token()
    added = grown.insert(10_000_000) + grown.insert(_DAY)
    assert numbers(grown.table.new_rows(token)) == added
    grown.run("truncate table {t}")
    grown.insert(0)
    with pytest.raises(DatasetError, match="truncated"):
        grown.table.new_rows(token).to_arrow()


def test_a_table_without_a_designated_timestamp(each_server: Server) -> None:
    """[QDB-TK-2]"""
    name = each_server.name("plain")
    each_server.exec(f"create table {name} (x long)", f"insert into {name} select x from long_sequence(5)")
    table = xskip.questdb.open(each_server.folder(name))
    token = table.token()
    each_server.exec(f"insert into {name} select x + 10 from long_sequence(2)")
    assert numbers(table.new_rows(token)) == [11, 12]


def test_random_changes(each_server: Server) -> None:
    """[QDB-TK-2] [QDB-TK-3] A read returns just the rows that the later moment has and the earlier one had not."""
    right, failed = 0, 0
    for seed in range(max(2, cases(3))):  # of the first one, most reads fail
        random, grown = Random(seed), Grown(each_server)
        grown.insert(0, 400, step=100_000_000)
        last = 40_000_000_000
        moments: list[tuple[str, dict[int, int]]] = []
        for _ in range(14):
            match random.choice("aaaaalctdsu"):
                case "a":
                    grown.insert(last, rows := random.randint(1, 300), step=100_000_000)
                    last += rows * 100_000_000
                case "l":
                    grown.insert(random.randint(0, last), random.randint(1, 5), step=10)
                case "c" if last > _DAY:
                    kind = random.choice(["parquet", "native"])
                    grown.run(f"alter table {{t}} convert partition to {kind} where ts < '1970-01-02'")
                case "t":
                    grown.run("alter table {t} add column c" + str(random.randint(0, 10**9)) + " long")
                case "d" if last > 2 * _DAY:
                    grown.run(f"alter table {{t}} drop partition where ts < {last - 2 * _DAY}")
                case "s":
                    grown.run("alter table {t} squash partitions")
                case "u" if not any(piece.is_parquet for piece in grown.table.pieces):
                    grown.run(f"update {{t}} set v = 'u' where x = {random.randint(1, 400)}")
                case _:
                    pass
            present = times(grown.table)
            moments.append((grown.table.token(), present))
            for _ in range(5):
                one, two = sorted(random.choices(range(len(moments)), k=2))
                until = random.choice([None, moments[two][0]])
                upto = present.keys() if until is None else present.keys() & moments[two][1].keys()
                start, end = sorted(random.choices(range(0, last, 1_000_000_000), k=2))
                bounds = random.choice([(None, None), (start, end), (None, end), (start, None)])
                try:
                    found = numbers(grown.table.new_rows(moments[one][0], until), *bounds)
                except DatasetError:
                    failed += 1
                    continue
                low, high = bounds[0] or 0, bounds[1] or 1 << 62
                assert sorted(found) == sorted(x for x in upto - moments[one][1].keys() if low <= present[x] < high), (
                    seed
                )
                right += 1
    assert right > failed > 0


def test_a_loop_while_a_server_writes(each_server: Server) -> None:
    """[QDB-TK-2] The reads of a loop have each row once."""
    grown = Grown(each_server)
    grown.insert(0)
    inserts = cases(39)

    def write() -> None:
        for number in range(1, inserts + 1):
            grown.insert(number * _DAY // 8, 50)
            if number % 10 == 9:
                grown.run("alter table {t} convert partition to parquet where ts < '1970-01-03'")

    table, saved, found = grown.table, None, []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        reads = 0
        while saved is None or not writing.done():
            until = table.token()
            found += table.new_rows(saved, until).to_arrow("x")["x"].to_pylist()
            saved, reads = until, reads + 1
        writing.result()
    found += table.new_rows(saved).to_arrow("x")["x"].to_pylist()
    assert found == list(range(1, inserts * 50 + 6))
    assert reads > 3


@pytest.mark.parametrize("other", [Ending(1, 0), Ending(0, 1)])
def test_a_partition_that_has_grown_from_other_rows(grown: Grown, other: Ending) -> None:
    """[QDB-TK-4]: a table was restored from a copy, and has got other rows than those of the token since."""
    token = grown.table.token()
    state = TableState.parse(token, "since", "")
    last = max(state.partitions)
    ending = state.partitions[last].ending
    assert ending is not None
    wrong = Ending(ending.time - other.time, ending.before - other.before)
    partitions = state.partitions | {last: replace(state.partitions[last], ending=wrong)}
    added = grown.insert(last + _DAY // 2)
    assert numbers(grown.table.new_rows(token)) == added
    with pytest.raises(DatasetError, match="other rows than the token"):
        grown.table.new_rows(replace(state, partitions=partitions).text()).to_arrow()


def test_tokens_that_are_not_right(grown: Grown, tmp_path: Path) -> None:
    """[QDB-TK-7]"""
    token = grown.table.token()
    copy_table(grown.server.folder(grown.name), tmp_path / "copy")
    grown.insert(4 * _DAY)
    later = grown.table.token()
    wrong = {
        "": "no token", "lake1-abc": "no token", token[:-3]: "damaged",
        token.replace("questdb1", "questdb2"): "another release",
        token[:20] + ("A" if token[20] != "A" else "B") + token[21:]: "damaged",
        TokenForm("questdb", 1, "").text(b"[]"): "damaged", TokenForm("questdb", 1, "").text(b"x"): "damaged",
    }  # fmt: skip
    for text, message in wrong.items():
        with pytest.raises(PredicateError, match=f"since is .*{message}"):
            grown.table.new_rows(text)
        with pytest.raises(PredicateError, match=f"until is .*{message}"):
            grown.table.new_rows(until=text)
    with pytest.raises(PredicateError, match="later token than until"):
        grown.table.new_rows(later, token)
    with pytest.raises(PredicateError, match="later transaction"):
        xskip.questdb.open(tmp_path / "copy").new_rows(later).to_arrow()
    assert numbers(xskip.questdb.open(tmp_path / "copy", frozen=True).new_rows(token)) == []
    other = Grown(grown.server)
    other.days(1)
    with pytest.raises(PredicateError, match="another table"):
        other.table.new_rows(token).to_arrow()


def test_only_pieces_with_new_rows_are_opened(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-TK-8]"""
    from xskip.questdb_files.piece_values import PieceValues

    token = grown.table.token()
    added = grown.insert(2 * _DAY + 60_000_000) + grown.insert(3 * _DAY)
    opened: list[str] = []
    original = PieceValues._selected

    def noted(values: PieceValues, chosen: object, piece: object) -> object:
        opened.append(piece.folder.name)  # type: ignore[attr-defined]
        return original(values, chosen, piece)  # type: ignore[arg-type]

    monkeypatch.setattr(PieceValues, "_selected", noted)
    found: pa.Table = grown.table.new_rows(token).to_arrow("x")
    assert found["x"].to_pylist() == added
    assert {name[:10] for name in opened} == {"1970-01-03", "1970-01-04"}


def test_the_length_of_a_token(each_server: Server) -> None:
    """[QDB-TK-1]"""
    grown = Grown(each_server, "partition by hour wal")
    grown.insert(0, 1000, step=3_600_000_000)
    token = grown.table.token()
    assert len(grown.table.pieces) == 1000
    assert len(token) < 10_000
    assert token.replace("-", "").replace("_", "").isalnum()
