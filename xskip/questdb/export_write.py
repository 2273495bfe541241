"""The files of an export: Spark writes them, and reads them back. Rules: [QDB-CT]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xskip.column_paths import in_backticks
from xskip.errors import DatasetError
from xskip.questdb.export_plan import folder_units
from xskip.questdb_files.column_types import NANOSECOND_TIMESTAMP
from xskip.questdb_files.metadata_file import Column, Metadata
from xskip.questdb_files.partition_names import Clock, PartitionUnit
from xskip.spark.questdb.cold_columns import layout_of
from xskip.spark.questdb.cold_tier import ColdColumn, ColdTier

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "FORMATS",
    "FileForm",
    "FileRows",
    "designated",
    "prefix_of",
    "read_back",
    "settings_of",
    "stored_columns",
    "write",
]

FORMATS = ("parquet", "avro")
#: The settings of the session that writes: the form of times in files, and the zone of the names of folders.
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.ansi.enabled": "false",
}
_PROTOCOL = "spark.sql.sources.commitProtocolClass"
#: The commit protocol of writers that choose the names of their files with the option ``mapreduce.output.basename``.
_NAMED_FILES = "questdb.NamedFiles"
#: The first version of Spark whose commit protocols let a writer name its files.
_NAMES_FILES = (4, 1)
_POSITION = "__xskip_position"
_SAMPLES = 15
_ACCURACY = 10_000


@dataclass(frozen=True, slots=True)
class FileForm:
    """The form of files."""

    format: str
    #: The result of :func:`prefix_of`.
    prefix: str
    #: The options of Spark's writer.
    options: Mapping[str, str]
    #: The result of :func:`stored_columns`.
    columns: tuple[ColdColumn, ...]
    #: The designated timestamp among the columns.
    timestamp: ColdColumn


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a file that was read back."""

    rows: int
    #: Some of the timestamps in ticks, the least and the greatest among them.
    times: tuple[int, ...]


def settings_of(spark: SparkSession) -> dict[str, str]:
    """Return the settings of a session that writes."""
    version = tuple(map(int, spark.version.split(".")[:2]))
    return _SETTINGS if version >= _NAMES_FILES else {**_SETTINGS, _PROTOCOL: _NAMED_FILES}


def prefix_of(columns: Sequence[Column], clock: Clock, tier: ColdTier) -> str:
    """Return the text before the names of folders' units, which keeps them apart from names of columns [QDB-CT-2]."""
    # the former exports decide, because Spark reads no folders of two forms
    for path in (file.path for partition in tier.partitions for file in partition.files):
        return path.partition("year=")[0]
    names = {column.name.lower() for column in columns}
    prefix = ""
    while any(prefix + unit in names for unit in folder_units(clock)):
        prefix += "partition_"
    return prefix


def stored_columns(columns: Sequence[Column], clock: Clock, prefix: str) -> tuple[ColdColumn, ...]:
    """Return the columns of files, where a column with the name of a folder's unit has another name [QDB-CT-2]."""
    units = {prefix + unit for unit in folder_units(clock)}
    taken = units | {column.name.lower() for column in columns}
    stored = []
    for column in layout_of(columns):
        name = column.name
        while name.lower() in (units if name == column.name else taken):
            name = "column_" + name
        stored.append(replace(column, name=name))
        taken.add(name.lower())
    return tuple(stored)


def write(rows: DataFrame, columns: Sequence[Column], clock: Clock, to: str, form: FileForm) -> None:
    """Write rows of a table, which are in its order, into the folders of their partitions."""
    from pyspark.sql import functions as F

    names = {column.name: stored.name for column, stored in zip(columns, form.columns, strict=True)}
    renamed = rows.withColumnsRenamed({name: stored for name, stored in names.items() if name != stored})
    units = {form.prefix + unit: value for unit, value in _unit_values(clock, form.timestamp).items()}
    placed = renamed.withColumns({**units, _POSITION: F.monotonically_increasing_id()})
    # the position keeps rows with equal times in the order of the table
    ordered = placed.sortWithinPartitions(*units, F.col(in_backticks(form.timestamp.name)), _POSITION).drop(_POSITION)
    ordered.write.format(form.format).partitionBy(*units).mode("append").options(**form.options).save(to)


def read_back(spark: SparkSession, paths: Sequence[str], clock: Clock, form: FileForm) -> dict[str, FileRows]:
    """Return the rows of files, by their paths below the folder of the cold tier."""
    from pyspark.sql import functions as F

    time = F.col(in_backticks(form.timestamp.name))
    ticks = time if form.timestamp.type_code == NANOSECOND_TIMESTAMP else F.unix_micros(time)
    samples = F.percentile_approx(ticks, [i / _SAMPLES for i in range(_SAMPLES + 1)], _ACCURACY)
    files = spark.read.format(form.format).load(list(paths))
    found = files.groupBy(F.input_file_name()).agg(F.count("*"), F.min(ticks), F.max(ticks), samples).collect()
    parts = len(folder_units(clock)) + 1  # a task gives its files the same name in all folders
    return {
        "/".join(path.split("/")[-parts:]): FileRows(rows, tuple(sorted({least, greatest, *times})))
        for path, rows, least, greatest, times in found
    }


def designated(metadata: Metadata) -> Column:
    """Return the designated timestamp of a table, which every table with partitions has."""
    if metadata.timestamp is None:
        raise DatasetError("a table without a designated timestamp has no partitions to export")
    return metadata.timestamp


def _unit_values(clock: Clock, timestamp: ColdColumn) -> dict[str, SparkColumn]:
    """Return the values in the names of a partition's folders, by the unit."""
    from pyspark.sql import functions as F

    name = in_backticks(timestamp.name)
    # servers take no times before 1970, so that the division rounds down
    time = f"timestamp_micros({name} div 1000)" if timestamp.type_code == NANOSECOND_TIMESTAMP else name
    year = "yearofweek" if clock.unit is PartitionUnit.WEEK else "year"
    digits = {unit: 4 if unit == "year" else 2 for unit in folder_units(clock)}
    # Spark replaces columns that can be null by others, and then sorts rows again; LPAD alone can be null
    return {
        unit: F.expr(f"COALESCE(LPAD(EXTRACT({year if unit == 'year' else unit} FROM {time}), {width}, '0'), '')")
        for unit, width in digits.items()
    }
