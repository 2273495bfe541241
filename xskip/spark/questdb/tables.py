"""The answers to the JVM's questions about tables of QuestDB. Rules: [QDB-SP] [QDB-SN]."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xskip.errors import DatasetError, XskipError
from xskip.metadatastore.filesystem import local_path
from xskip.metadatastore.location import as_uri
from xskip.protocol.answer import Refusal
from xskip.questdb_files.database import place_of
from xskip.questdb_files.retry import Retry
from xskip.questdb_files.snapshot import Snapshot, TablePlace, missing_file, never_at_rest, read_snapshot
from xskip.spark.bridge.gateway import Hook
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.bridge.java_errors import reason
from xskip.spark.questdb.cold_tier import ColdRecords
from xskip.spark.questdb.description import Cold, pack

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

__all__ = ["TableAnswers", "cold_records"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class TableAnswers:
    """The answers to requests of ``io.xskip.questdb.TableState``."""

    def __init__(self, hook: Hook, session: Callable[[], SparkSession]) -> None:
        self._hook = hook
        self._session = session

    def answer(self, request: str) -> bytes | None:
        """Return the description of a table, None if the known transaction is the last one, or a refusal.

        A request is a JSON object: the ``path`` of a table, whether the table is ``frozen``, the path of its ``cold``
        tier or an empty text, the ``fingerprint`` of the known transaction or an empty text, and the number of the
        cold tier's known ``record`` or -1.
        """
        try:
            fields = json.loads(request)
            self._hook.ship_extension(self._session(), "questdb")
            place = place_of(_local(fields["path"]))
            return _described(place, self._records(fields["cold"]), fields)
        except BaseException as error:  # noqa: BLE001 - py4j would replace the error by one of its own
            return Refusal(reason(error)).to_bytes()

    def _records(self, path: str) -> ColdRecords | None:
        return cold_records(self._hook, path) if path else None


def cold_records(hook: Hook, path: str) -> ColdRecords:
    """Return the records of a cold tier in a folder on any file system that Spark can reach."""
    root = as_uri(hook.locations.qualified(path))
    return ColdRecords(storage_for(hook, root), root)


def _described(place: TablePlace, records: ColdRecords | None, fields: dict[str, Any]) -> bytes | None:
    """Return the last transaction, or None if it is the known one with the known record of the cold tier."""
    retry, record = Retry(), fields["record"]
    while True:
        failure: XskipError | None = None
        # the record must be the last one before and after the transaction is read [QDB-CT-5]
        snapshot = read_snapshot(place)
        cold = _cold(records, snapshot)
        before, record = record, cold.tier.number if cold else -1
        if record != before:  # an export can have committed after the transaction was read
            continue
        now = (snapshot.fingerprint(), record)
        if now == (fields["fingerprint"], fields["record"]) and snapshot.is_current():
            return None
        try:
            packed = pack(snapshot, cold, frozen=fields["frozen"])
        except FileNotFoundError as error:
            failure = missing_file(error, snapshot)
            if fields["frozen"]:
                raise failure from error
        else:
            # the stamps of the pieces are from before any squash [QDB-SN-3]
            if fields["frozen"] or snapshot.is_current():
                return packed
        if not retry.wait(snapshot.txn):
            raise failure or never_at_rest(place, retry)


def _cold(records: ColdRecords | None, snapshot: Snapshot) -> Cold | None:
    if records is None:
        return None
    return Cold(records.root, records.of_table(snapshot, "parquet"))


def _local(path: str) -> Path:
    """Return the local path of a Hadoop path, which is decoded."""
    scheme = _SCHEME.match(path)
    if scheme and scheme[1] != "file":
        raise DatasetError(
            "a table of QuestDB can be read only from a local or shared file system", where=path,
            hint="mount the file system on all machines, or export the partitions as Parquet",
        )  # fmt: skip
    return local_path(path)
