"""Tables of QuestDB on disk as Arrow data, without a server and without Spark. Rules: specs/questdb.rst."""

from xskip.questdb_files.database import Database
from xskip.questdb_files.table import Table

__all__ = ["Database", "Table"]
