"""The data systems whose formats xskip reads itself, with what other layers must know of each format."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DATA_SYSTEMS", "EXTENSIONS", "DataSystem", "system_of"]


@dataclass(frozen=True, slots=True)
class DataSystem:
    """A data system. No setting of Spark changes the values of its format, and no reader's option its columns."""

    #: Spark's name of the format, in lower case.
    format: str
    #: What messages call a dataset.
    dataset: str
    #: Whether ``spark.read.format`` takes the name of the format.
    is_source: bool = False
    #: The name of an entry that the folder of each dataset has, if datasets consist of pieces instead of files.
    marker: str = ""
    #: How to read a dataset of pieces, for hints.
    alternative: str = ""
    #: The folder of the Java classes that a driver compiles and loads with the first dataset; empty if there are none.
    java_folder: str = ""
    #: The class with the methods of these classes that Python and the data source call.
    java_class: str = ""
    #: Whether the format's reader reads the Avro blocks of a range of a file, as Spark's does.
    has_ranges: bool = False

    @property
    def has_files(self) -> bool:
        """Return whether a dataset consists of files, which an index can list and select without Spark."""
        return not self.marker


DATA_SYSTEMS = (
    DataSystem("quixlake", "segments of a Quix Lake", has_ranges=True),
    DataSystem(
        "questdb",
        "a table of QuestDB",
        is_source=True,
        marker="_txn",
        alternative="read the table with spark.read.format('questdb'), or a range of time with xskip.questdb.open",
        java_folder="io/xskip/questdb/",
        java_class="io.xskip.questdb.TableRelations",
    ),
)
#: The data systems whose Java classes are an extension of the hook, which a driver loads with the first dataset.
EXTENSIONS = tuple(system for system in DATA_SYSTEMS if system.java_folder)


def system_of(fmt: str) -> DataSystem | None:
    """Return the data system of a format, or None for a format of Spark or of a plugin."""
    return next((system for system in DATA_SYSTEMS if system.format == fmt.lower()), None)
