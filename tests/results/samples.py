"""A sample of each public result, whose texts are all of one kind, such as text that is not escaped."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from tests.results.reports import report_of_days
from xskip.indexes import MinMax
from xskip.metadata.data_files import DataFiles
from xskip.questdb.export import ExportResult
from xskip.quixlake.compaction import CompactionResult
from xskip.quixlake.replay import ReplayResult
from xskip.quixlake.results import LakeTable, TimeRange
from xskip.quixlake.sink import WriteResult
from xskip.results.advice import Advice, AdviceList, AppliedAdvice, LeftAdvice
from xskip.results.clause_outcomes import ClauseOutcome
from xskip.results.diagnosis import Check, Diagnosis
from xskip.results.file_explanation import FileExplanation
from xskip.results.file_list import FileList
from xskip.results.history import AdoptionResult, Commit, History, VacuumResult
from xskip.results.index_choice import ColumnChoice, IndexChoice
from xskip.results.index_status import IndexDescription, IndexInfo, IndexStatus
from xskip.results.operations import (
    ColumnChange,
    DropResult,
    EnsureResult,
    IndexList,
    ListedIndex,
    MigrationResult,
    OptimizeResult,
    RefreshResult,
    RemovalResult,
    RotationResult,
)
from xskip.results.overview import IndexOverview, Overview
from xskip.results.savings import DatasetSavings, Savings
from xskip.results.scan_source import ScanSource
from xskip.results.settings_list import SettingsList, SettingValue
from xskip.results.skipping_report import ScanReport, SkippingReport
from xskip.results.validation import RepairResult, ValidationResult, WrongStatistics

NOON = datetime(2026, 11, 27, 12, tzinfo=timezone.utc)
MILLIS = int(NOON.timestamp() * 1000)


def samples(root: str, name: str) -> list[Any]:
    """Return the results; ``root`` stands for paths and ``name`` for columns, indexes and values."""
    return [*_of_indexes(root, name), *_of_sessions(root, name), *_of_data_systems(root, name)]


def _of_indexes(root: str, name: str) -> list[Any]:
    file = f"{root}/part-00007.parquet"
    wrong = (WrongStatistics(file, name, "1 … 4", f"1 … {name}"), WrongStatistics(file, name, "1", "2", False))
    commit = Commit(7, MILLIS, name, 1200, 12, None, 3, 70_000, 4, name, f"{name} (local-1)")
    infos = (
        IndexInfo("minmax", (name,), ("timestamp",), (), 20_480, 1.25, 12, 3400),
        IndexInfo("valuelist", (name,), ("string",), (("max", name),), None, None),
    )
    choice = IndexChoice(
        root, 1200, 7_000_000, 16, 35_000, 12,
        (
            ColumnChoice("add", name, "rules_out", 0.9, 12, 7e9, 0.9, 70_000, 1.25, 3.0, 0.05),
            ColumnChoice("remove", name, "not_queried"), ColumnChoice("none", name, "budget", cost_bytes=70_000),
        ),
        (MinMax("a"),), 3,
    )  # fmt: skip
    return [
        RefreshResult(1200, 3, 0, 4.25, failed=(file,), reread=(name,), rebuilt=True),
        EnsureResult(
            root, (name,), (name,), (name,), 12, 0, 1188, 2.5, failed=(file,), reread=(name,), dry_run=True,
            rebuilt=True,
        ),
        DropResult(root, 3), RemovalResult(root, (name,), 1200, 0.5),
        MigrationResult(root, (3,), 4, 1200, 0.5, True, (ColumnChange(name, f"{name}1", name),), problem=name),
        RotationResult(root, 3, (name,), 0.25), OptimizeResult(root, 12, 1, 1200, 90_000, 60_000, 0.5),
        IndexList((ListedIndex(root, f"{root}/.xskip", 1200, (name,)),)), IndexList(()),
        IndexDescription(root, f"{root}/.xskip", "parquet", 4, 7, 1200, 70_000, (f"{name} date",), infos, 12),
        IndexStatus("DEPRECATED_SUPPORTED", 1200, 3, 1, name, ((file, 3),), 1, (file,), ((file, name),), 1),
        IndexStatus("CURRENT", 1200, 0, 0, metadata_files=((file, 4),)),
        History(root, (commit,)), VacuumResult(root, (file,) * 25, (root,), 4096, (root,), False),
        AdoptionResult(root, f"{root}/former", 1197, 3, 3),
        ValidationResult(1200, wrong, 3.5, 1, 1, (name,), 1), RepairResult(1200, (file,), 1, wrong, (file,), 3.5),
        AdviceList(root, 12, (Advice("remove", name, f"{name} ruled out no file in 12 scans"),)),
        AdviceList(root, 12, (Advice("add", name, f"add {name}", name, True, 12, 0.5, 7e9, 1e9, 70_000, 1.25),), 32),
        AppliedAdvice(root, (name,), (name,), (LeftAdvice("order", name, name),), 1.5, (file,), dry_run=True),
        AdviceList(root, 0, ()),
        choice,
        RefreshResult(12, 0, 0, 1.5, choice=choice),
        Overview(root, MILLIS, (IndexOverview(root, root, "parquet", 1200, (name,), 70_000, MILLIS, problem=name),)),
    ]  # fmt: skip


def _of_sessions(root: str, name: str) -> list[Any]:
    file = f"{root}/part-00007.parquet"
    explained = FileExplanation(file, 31_234, "skipped", name, name, f"1 … {name}", name)
    scan = ScanReport(
        root, "parquet", name, 60, 10, 3, 60_000, 10_000, 2.5, (ClauseOutcome(name, name, 50, 1),), ((name, name),),
        explained=(explained,),
    )  # fmt: skip
    source = ScanSource(root, "parquet", lambda: pa.schema([]))
    files = DataFiles(pa.array([file] * 12), pa.array([1000] * 12), pa.array([MILLIS] * 12))
    return [
        scan, SkippingReport((scan,), name, 0.25), report_of_days(),
        Savings(12, NOON, (DatasetSavings(root, 12, 1200, 5_000_000, 1100, 4_500_000, 12.5),)), Savings(0, None, ()),
        FileList(files, 1200, 5_000_000, source, ((name, name),), problem=name),
        Diagnosis((Check(name, "ok", name), Check(name, "warning", root, name), Check(name, "failure", root, name))),
        SettingsList((SettingValue("spark.xskip.enabled", name, "true", "session", name),)),
    ]  # fmt: skip


def _of_data_systems(root: str, name: str) -> list[Any]:
    keys = pa.table({"stream_key": [name] * 25, "segments": [3] * 25, "bytes": [4096] * 25, "messages": [180] * 25})
    return [
        LakeTable(f"keys of {name}", keys), TimeRange(NOON, None, 1), CompactionResult(72, 3, 12_960, (12, 1)),
        WriteResult(True, 72, 12_960, 500_000), WriteResult(False, 0, 0, 0),
        ReplayResult(1800, True, {(name, 0): 4319, (None, 1): 12}, 1.5),
        ExportResult((name,), 1000, 1, 20_480, 1.5, (name,), f"ALTER TABLE {name} DROP PARTITION LIST '2026-02-10'"),
    ]  # fmt: skip
