"""Tables of QuestDB on disk, and what QuestDB does with rows, on DataFrames. Rules: specs/questdb.rst."""

from xskip.questdb.dedup import dedup_upsert
from xskip.questdb.export import ExportOptions, ExportResult
from xskip.questdb.functions import from_nanoseconds, ipv4_to_number, to_nanoseconds
from xskip.questdb.latest import latest_on
from xskip.questdb.table import Table
from xskip.questdb.table import open_table as open  # noqa: A004 - the verb that users of files and tables know
from xskip.questdb.union import union
from xskip.questdb_files import Database

__all__ = [
    "Database",
    "ExportOptions",
    "ExportResult",
    "Table",
    "dedup_upsert",
    "from_nanoseconds",
    "ipv4_to_number",
    "latest_on",
    "open",
    "to_nanoseconds",
    "union",
]
