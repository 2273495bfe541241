"""The selection of the files that a query with a predicate must read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from xskip.api.predicates import check_predicate, resolving
from xskip.engine.decision import ScanTrace
from xskip.errors import DatasetError, MetadataCorruptError, PredicateError
from xskip.indexing.source import Source
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.missing_index import no_index
from xskip.results.clause_outcomes import unused_texts
from xskip.results.file_list import FileList
from xskip.results.scan_source import ScanSource
from xskip.settings import PLACES
from xskip.spark.collect.arrow_schema import arrow_schema
from xskip.spark.collect.listing import list_files
from xskip.spark.collect.relation import selected
from xskip.spark.query.scan_files import ranges_in
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["select_files"]


def select_files(
    engine: SparkEngine, source: Source, predicate: str | Column, options: Mapping[str, str], *, require_index: bool
) -> FileList:
    """Return the files that a query with a predicate must read, in the order of their names."""
    check_predicate(predicate)
    has_index = _has_index(source)
    if require_index and not has_index:
        raise no_index(source.storage, source.location, is_known=source.is_known)
    session = source.df.sparkSession
    # The source has a clone of the user's session, so these settings reach no other query.
    session.conf.set("spark.xskip.enabled", "true")
    if source.chosen:
        session.conf.set(PLACES.key, source.chosen)
    engine.hook.install(session)
    source.dataset.name_files(replace(source.location, listed=""))  # the caller reads the files as Spark lists them
    listed = list_files(source.dataset)
    before = engine.hook.queries.last_scan()
    try:
        with resolving(predicate):
            with source.dataset.in_session():
                query = source.df.filter(predicate)
            kept = selected(engine.hook, query).files()
    except DatasetError as error:
        if not (error.found or "").startswith("[CAST"):
            raise
        raise PredicateError(
            "a literal does not fit the type of its column", where=str(predicate), found=error.found
        ) from error
    kept = kept.take(pc.sort_indices(kept.names))
    trace = _trace(engine, source, before) if has_index else None
    unused = () if trace is None else unused_texts(trace.result)
    problem = "the dataset has no index" if not has_index else "" if trace is None else trace.problem
    ranges = None if trace is None else ranges_in(trace.evidence, kept)
    scan = ScanSource(
        source.location.listed_root, source.read_profile.format, partial(arrow_schema, source.df.schema),
        listed.partitions_of(kept), options=options, spark_schema=lambda: source.df.schema,
    )  # fmt: skip
    return FileList(kept, len(listed), listed.files.total_bytes, scan, unused, problem, ranges)


def _has_index(source: Source) -> bool:
    try:
        return find_live(source.storage, source.directory) is not None
    except MetadataCorruptError:  # the query reads all files, and the list states the reason
        return True


def _trace(engine: SparkEngine, source: Source, before: int) -> ScanTrace | None:
    """Return the trace of the decision about the files."""
    scans = [scan for scan in engine.hook.queries.scans_after(before) if scan.root == source.root]
    return engine.trace(scans[-1].id) if scans else None
