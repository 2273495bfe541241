"""The creation of an index by a write that requests it. Rules: [WRT-CR]."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xskip.indexing.build_plan import plan
from xskip.indexing.builder import reading_of, types_of
from xskip.indexing.definition_copies import keep_definition
from xskip.indexing.reader import PathReader, TableReader
from xskip.indexing.source import Source, open_source
from xskip.indexing.write_plan import WritePlan
from xskip.metadata.table import IndexDefinition
from xskip.metadatastore.commit_records import CommitRecord
from xskip.protocol.write_request import WriteRequest
from xskip.spark.bridge.sessions import session_of
from xskip.spark.bridge.writes import IndexedWrite
from xskip.spark.query.spark_engine import SparkEngine

__all__ = ["Creation", "prepare_creation"]


@dataclass(frozen=True, slots=True)
class Creation:
    """A new index."""

    #: The dataset with its new files.
    source: Source
    definitions: tuple[IndexDefinition, ...]
    #: The first record, without metadata files and operation.
    record: CommitRecord
    #: Whether the definitions are secret.
    is_secret: bool

    def keep_definition(self, engine: SparkEngine, record: CommitRecord) -> None:
        """Keep a copy of the definition beside the dataset; ``record`` is that of the commit."""
        keep_definition(engine, self.source, self.definitions, record, secret=self.is_secret)


def prepare_creation(
    engine: SparkEngine, write_plan: WritePlan, request: WriteRequest, write: IndexedWrite
) -> Creation | str:
    """Read the schema of the written files as a query does, and return the new index, or why there is none.

    XskipError means that Spark cannot read the files.
    """
    location = write_plan.location
    spark = session_of(engine.session(), write.session())
    # the table tells more than the files: types, and defaults of columns
    reader = TableReader(request.table) if request.table else PathReader(request.path, write.format())
    source = replace(open_source(spark, engine, reader, location.directory), location=location)
    planned = plan(source, [each.index for each in write_plan.planned], [p.definition for p in write_plan.planned])
    if [each.definition for each in planned] != [each.definition for each in write_plan.planned]:
        return "Spark reads the columns of the files in other types than it has written"
    write_options = write_plan.write_options
    reading = reading_of(source, planned, write_options)
    record = CommitRecord(0, location.root, write_options.version, (), reading, types_of(planned), 0)
    return Creation(source, tuple(each.definition for each in planned), record, write_options.is_secret)
