"""Tables of QuestDB on disk, and what QuestDB does with rows, on DataFrames. Rules: specs/questdb.rst."""

from xskip.questdb.dedup import dedup_upsert
from xskip.questdb.latest import latest_on
from xskip.questdb_files import Database, Table
from xskip.questdb_files import open_table as open  # noqa: A004 - the verb that users of files and tables know

__all__ = ["Database", "Table", "dedup_upsert", "latest_on", "open"]
