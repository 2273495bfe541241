"""Tables of QuestDB, read from disk without a server and without Spark. Rules: specs/questdb.rst."""

from xskip.questdb.database import Database
from xskip.questdb.table import Table
from xskip.questdb.table import open_table as open  # noqa: A004 - the verb that users of files and tables know

__all__ = ["Database", "Table", "open"]
