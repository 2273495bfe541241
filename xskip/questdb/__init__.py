"""Tables of QuestDB on disk. Rules: specs/questdb.rst."""

from xskip.questdb_files import Database, Table
from xskip.questdb_files import open_table as open  # noqa: A004 - the verb that users of files and tables know

__all__ = ["Database", "Table", "open"]
