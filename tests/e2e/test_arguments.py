"""Wrong arguments: one error names the argument, what was found and what is expected, before anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import index, write_once
from xskip import BloomFilter, Formatted, MinMax, SkippingIndex, ValueList
from xskip.errors import (
    ArgumentError,
    DatasetError,
    IndexDefinitionError,
    MetadataNotFoundError,
    MetadataVersionError,
    PredicateError,
    StorageError,
    XskipError,
)

SCHEMA = "ts int, city string, position struct<lat: double, lon: double>"


def lake(spark: SparkSession, root: Path, *, indexed: bool) -> SkippingIndex:
    path = write_once(spark, root / "data", SCHEMA, {"a": [(1, "oslo", (1.0, 2.0))]})
    return index(spark, path, [MinMax("ts")]) if indexed else SkippingIndex.for_path(spark, path)


@pytest.fixture(scope="module")
def lakes(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, SkippingIndex]:
    return {indexed: lake(session, tmp_path_factory.mktemp("lake"), indexed=indexed) for indexed in (False, True)}


@pytest.fixture(params=[False, True], ids=["no index", "indexed"])
def made(
    spark: SparkSession, lakes: dict[bool, SkippingIndex], request: pytest.FixtureRequest
) -> Iterator[SkippingIndex]:
    """Yield an index that does not exist yet, and one that does: the errors are the same, and change nothing."""
    shared = lakes[request.param]
    before = sorted(Path(shared.name).rglob("*"))
    yield shared
    assert sorted(Path(shared.name).rglob("*")) == before


@pytest.mark.parametrize(
    ("indexes", "expected"),
    [
        ("ts", r"not in a list \(found: 'ts', of type str; expected: a list of indexes, such as \[MinMax\('ts'\)"),
        (["ts"], r"no index \(found: 'ts', of type str; expected: a list of indexes"),
        ([MinMax], r"a class instead of an index \(found: MinMax; .*write MinMax\('column'\)"),
        (MinMax("ts"), r"not in a list \(found: an object of type MinMax; .*put the index into a list"),
        ([MinMax("ts"), None], r"no index \(found: None;"),
        (MinMax, r"not in a list \(found: the class MinMax;"),
    ],
)
def test_indexes(made: SkippingIndex, indexes: Any, expected: str) -> None:
    for operation in (made.create, made.ensure, made.add):
        with pytest.raises(ArgumentError, match=expected):
            operation(indexes)


def test_only_a_new_list_can_be_left_to_xskip(made: SkippingIndex) -> None:
    with pytest.raises(ArgumentError, match=r"not in a list \(found: None;"):
        made.add(cast(Any, None))


@pytest.mark.parametrize(
    ("arguments", "error", "expected"),
    [
        ({"on_error": "ignore"}, ArgumentError, r"on_error .*found: 'ignore'; expected: 'raise' or 'skip'"),
        ({"on_error": "skipp"}, ArgumentError, r"did you mean skip\?"),
        ({"progress": "yes"}, ArgumentError, r"progress .*expected: True, False, None or a function"),
        ({"version": 9}, MetadataVersionError, r"xskip cannot write this version \(found: version 9; expected: 0 to 4"),
        ({"version": "4"}, ArgumentError, r"found: '4', of type str; expected: 0 to 4"),
        ({"version": True}, ArgumentError, r"found: True, of type bool"),
    ],
)
def test_options_of_a_build(made: SkippingIndex, arguments: Any, error: type[XskipError], expected: str) -> None:
    with pytest.raises(error, match=expected):
        made.create([MinMax("ts")], **arguments)


def test_options_of_other_operations(made: SkippingIndex) -> None:
    with pytest.raises(ArgumentError, match="on_error"):
        made.refresh(on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(MetadataVersionError, match=r"version 77; expected: 0 to 4"):
        made.migrate(77)
    for sample in (0, -1, "2", 1.5):
        with pytest.raises(ArgumentError, match="sample has an invalid value"):
            made.validate(sample=sample)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("tss", r"no such column \(where: .*found: tss; expected: one of ts, city, position\); did you mean ts\?"),
        (
            "position.latt",
            r"no such field \(where: column position of .*position.lat, position.lon\); did you mean position.lat\?",
        ),
        ("city.name", r"without fields .*where: column city of .*found: city.name; expected: a column of type struct"),
    ],
)
def test_unknown_columns(made: SkippingIndex, column: str, expected: str) -> None:
    with pytest.raises(IndexDefinitionError, match=expected):
        made.create([MinMax(column)])


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda: MinMax(cast(Any, F.col("ts"))),
            "not a text .*found: an object of type Column; expected: the name of a column",
        ),
        (lambda: MinMax(cast(Any, None)), "not a text .*found: an object of type NoneType"),
        (lambda: MinMax(cast(Any, F.col("ts")), expression=True), "not a text"),
        (lambda: ValueList("city", max_values=cast(Any, "10")), "max_values='10'"),
        (lambda: BloomFilter("city", fpp=cast(Any, "low")), "fpp='low'"),
        (lambda: xskip.PathBounds("ts_{ts:min}"), "needs a column and a pattern .found: PathBounds\\('ts_{ts:min}'"),
    ],
)
def test_arguments_of_index_types(spark: SparkSession, build: Callable[[], object], expected: str) -> None:
    with pytest.raises(IndexDefinitionError, match=expected):
        build()


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (None, "needs a Spark session .found: None; expected: a SparkSession"),
        (SparkSession.builder, r"an object of type .*Builder; .*call getOrCreate\(\) on the builder"),
        ("local", "an object of type str"),
        (SparkSession, "needs a Spark session"),
    ],
)
def test_sessions(session: Any, expected: str) -> None:
    for call in (xskip.enable, xskip.is_enabled, xskip.last_report, xskip.settings, xskip.list_indexes):
        with pytest.raises(ArgumentError, match=expected):
            call(session)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (None, "the (path|location) is not a text .found: None; expected: a path"),
        (5, "the (path|location) is not a text .found: 5, of type int"),
        ("", "the (path|location) is empty .found: '', of type str; expected: a path"),
        (["/a", "/b"], "an object of type list; .*index each directory separately"),
        (b"/a", "the (path|location) is not a text"),
    ],
)
def test_paths(spark: SparkSession, path: Any, expected: str) -> None:
    calls: list[Callable[[Any], object]] = [
        lambda path: SkippingIndex.for_path(spark, path),
        lambda path: xskip.migrate_all(spark, path),
    ]
    if path is not None:
        calls += [lambda path: xskip.doctor(spark, path), SkippingIndex.for_path(spark, "/lake").at]
    for call in calls:
        with pytest.raises(ArgumentError, match=expected):
            call(path)
    with pytest.raises(ArgumentError, match=expected):
        xskip.open_index(path)
    if path is not None:
        with pytest.raises(ArgumentError, match=expected):
            xskip.open_index("/lake", location=path)
    with pytest.raises(ArgumentError, match="the path is"):
        xskip.LocalKms.from_file(path)


def test_paths_of_pathlib(spark: SparkSession, tmp_path: Path) -> None:
    write_once(spark, tmp_path / "data", SCHEMA, {"a": [(1, "oslo", (1.0, 2.0))]})
    made = SkippingIndex.for_path(spark, tmp_path / "data")
    assert made.create([MinMax("ts")]).added == 1
    assert made.name == str(tmp_path / "data")


def test_other_arguments_of_for_path_and_for_table(spark: SparkSession) -> None:
    with pytest.raises(ArgumentError, match=r"format is not a text .found: None"):
        SkippingIndex.for_path(spark, "/lake", format=None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"the options are not a mapping .found: an object of type list"):
        SkippingIndex.for_path(spark, "/lake", options=["header"])  # type: ignore[arg-type]
    for table in (None, "", 5, ["t"]):
        with pytest.raises(ArgumentError, match=r"table is not a text .found: "):
            SkippingIndex.for_table(spark, table)  # type: ignore[arg-type]
    for schema in (5, ["ts int"], {"ts": "int"}):
        with pytest.raises(ArgumentError, match=r"schema has an invalid value .* such as 'ts timestamp'"):
            SkippingIndex.for_path(spark, "/lake", schema=schema)  # type: ignore[arg-type]
    assert SkippingIndex.for_path(spark, "/lake", schema=spark.range(1).schema).name == "/lake"


def test_sessions_of_for_path_and_for_table() -> None:
    for make in (SkippingIndex.for_path, SkippingIndex.for_table):
        for session in (None, "local", SparkSession.builder):
            with pytest.raises(ArgumentError, match="xskip needs a Spark session"):
                make(session, "/lake")  # type: ignore[arg-type]


def test_an_index_from_its_class(spark: SparkSession) -> None:
    make: Any = SkippingIndex
    for arguments in ((), (spark,), (spark, "/lake"), ("/lake",)):
        with pytest.raises(ArgumentError, match=r"; call SkippingIndex.for_path\(spark, path\) or "):
            make(*arguments)


def test_a_path_in_place_of_a_table(spark: SparkSession) -> None:
    with pytest.raises(DatasetError, match=r"name a table of the catalog; for .* use SkippingIndex.for_path\(\)$"):
        SkippingIndex.for_table(spark, "/lake/events").create([MinMax("ts")])


def test_a_file_in_place_of_a_directory(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "data", SCHEMA, {"a": [(1, "oslo", (1.0, 2.0))]})
    file = f"{path}/a.parquet"
    with pytest.raises(DatasetError, match=r"the root .* is a file .*a.parquet; .*; index the directory of the file$"):
        SkippingIndex.for_path(spark, file).create([MinMax("ts")])
    for operation in (SkippingIndex.refresh, SkippingIndex.status, SkippingIndex.describe):
        with pytest.raises(DatasetError, match="the root of the dataset is a file"):
            operation(SkippingIndex.for_path(spark, file))
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "indexes"))
    made = index(spark, file, [MinMax("ts")])  # a directory beside the file
    assert made.files("ts > 1").names == []


@pytest.mark.parametrize("pattern", ["(", "[a", "oslo"])
def test_patterns_that_spark_rejects(made: SkippingIndex, pattern: str) -> None:
    """A pattern without the group fails only where it matches, so the data do not show the mistake."""
    expected = r"rejects the pattern .*column city; .*expected: a regular expression of Java with a group 1"
    build = made.add if made.exists() else made.create
    with pytest.raises(IndexDefinitionError, match=expected) as caught:
        build([Formatted("city", pattern)])
    assert f"{pattern}|" not in str(caught.value)


@pytest.mark.parametrize("indexed", [False, True])
def test_a_pattern_that_spark_accepts(spark: SparkSession, tmp_path: Path, indexed: bool) -> None:
    made = lake(spark, tmp_path, indexed=indexed)
    build = made.add if indexed else made.create
    assert build([Formatted("city", r"^(?<first>\p{Alpha})(.*)$", group=2)]).failed == ()


def test_literals_that_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "data", SCHEMA, {"a": [(1, "oslo", (1.0, 2.0))]})
    spark.conf.set("spark.sql.ansi.enabled", "true")
    with pytest.raises(
        PredicateError, match=r"a literal does not fit .*where: ts > 'abc'; found: \[CAST_INVALID_INPUT"
    ):
        index(spark, path, [MinMax("ts")]).files("ts > 'abc'")


def test_columns_of_pandas(made: SkippingIndex) -> None:
    found = made.files("ts = 1", require_index=False)
    with pytest.raises(ArgumentError, match=r"columns is not a list of texts .found: 'ts', of type str"):
        found.to_pandas("ts")
    with pytest.raises(ArgumentError, match=r"columns is not a list of texts .found: 5, of type int"):
        found.to_pandas(5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"no such column .found: citty; .*did you mean city\?"):
        found.to_pandas(["ts", "citty"])
    assert list(found.to_pandas(["ts"]).columns) == ["ts"]


def test_other_arguments_of_maintenance(spark: SparkSession, made: SkippingIndex) -> None:
    calls: list[Callable[[], object]] = [
        lambda: made.vacuum(dry_run="yes"),  # type: ignore[arg-type]
        lambda: made.migrate(3, dry_run=1),  # type: ignore[arg-type]
        lambda: xskip.migrate_all(spark, "/lake", dry_run=None),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"dry_run has an invalid value .*expected: True or False"):
            call()
    for labels in ("k1", 5, {"k1": 2}, [("k1", "k2")]):
        with pytest.raises(ArgumentError, match=r"the labels are not a mapping of texts .*such as \{'old': 'new'\}"):
            made.rotate_keys(labels)  # type: ignore[arg-type]
    with pytest.raises(IndexDefinitionError, match=r"the pattern of paths is not a text .found: 5; "):
        xskip.PathBounds.of_pattern(5)  # type: ignore[arg-type]


def test_files_of_reports_and_file_systems(spark: SparkSession, tmp_path: Path) -> None:
    for path in (None, "", 5):
        with pytest.raises(ArgumentError, match=r"the path is .*expected: a file such as 'report.html'"):
            xskip.last_report(spark).save(path)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"filesystem has an invalid value .*expected: a pyarrow.fs.FileSystem"):
        xskip.open_index(tmp_path, filesystem=5)


def test_a_mistyped_name_of_the_package_has_a_suggestion() -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(xskip, "MinMx")  # noqa: B009 - mypy knows that the name is wrong
    assert (caught.value.name, caught.value.obj) == ("MinMx", xskip)  # from these, Python suggests MinMax


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MetadataNotFoundError, match=r"there is no such directory .where: .*/none\); check the path"):
        xskip.open_index(tmp_path / "none")
    with pytest.raises(MetadataNotFoundError, match=r"there is no index .*create"):
        xskip.open_index(tmp_path)


def test_arguments_of_listings(made: SkippingIndex) -> None:
    calls: list[Callable[..., object]] = [made.refresh, made.read]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"recheck is not a list of texts .found: 'day=1'.*such as \['date="):
            call(trust_listing=True, recheck="day=1")
        with pytest.raises(ArgumentError, match=r"recheck is not a list of texts .found: 1, of type int"):
            call(trust_listing=True, recheck=["day=1", 1])
        with pytest.raises(ArgumentError, match=r"trust_listing has an invalid value .found: 'yes'.*True or False"):
            call(trust_listing="yes")
    with pytest.raises(ArgumentError, match="require_index has an invalid value"):
        made.files("ts > 1", require_index="no")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"seed has an invalid value .found: 'a', of type str"):
        made.validate(seed="a")  # type: ignore[arg-type]


def test_columns_of_spark(made: SkippingIndex) -> None:
    """A Column has every attribute that one asks for."""
    with pytest.raises(ArgumentError, match=r"no index .found: an object of type Column"):
        made.create([F.col("ts")])  # type: ignore[list-item]
    for call in (xskip.explain, xskip.report):
        with pytest.raises(ArgumentError, match=r"not a DataFrame .found: an object of type Column"):
            call(F.col("ts"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((None, {}), "the builder of a session .found: None; expected: SparkSession.builder"),
        ((SparkSession.builder, {"extra_packages": "a:b:c"}), r"not a list of texts .*such as \['group:artifact:"),
        ((SparkSession.builder, {"avro_version": 4}), "avro_version is not a text .found: 4, of type int"),
    ],
)
def test_configure(spark: SparkSession, arguments: Any, expected: str) -> None:
    builder, named = arguments
    with pytest.raises(ArgumentError, match=expected):
        xskip.configure(builder, **named)
    with pytest.raises(ArgumentError, match=r"object of type SparkSession; .*call xskip.enable\(spark\)"):
        xskip.configure(spark)  # type: ignore[arg-type]


def test_registrations(spark: SparkSession) -> None:
    wrong = cast(Any, "x")
    with pytest.raises(ArgumentError, match=r"no client of a key management service .found: an object of type str"):
        xskip.use_kms(wrong)
    with pytest.raises(ArgumentError, match="LocalKms needs a mapping"):
        xskip.LocalKms(wrong)
    with pytest.raises(ArgumentError, match=r"no function of Spark .found: an object of type function"):
        xskip.register_function(spark, lambda x: x, None)
    with pytest.raises(ArgumentError, match=r"implies is no function .found: an object of type str"):
        xskip.register_function(spark, "name", wrong)
    with pytest.raises(ArgumentError, match=r"file_index is not a text .found: 5"):
        xskip.declare_classes(spark, file_index=5)  # type: ignore[arg-type]
    with pytest.raises(IndexDefinitionError, match=r"an index type is a class with a name .found: 'x'"):
        xskip.register(wrong)
    for build in (lambda: MinMax("ts", key_label=cast(Any, 5)), lambda: xskip.GeoBox("a", "b", key_label="")):
        with pytest.raises(IndexDefinitionError, match="label of a key is not a text"):
            build()


def test_queries(spark: SparkSession) -> None:
    with pytest.raises(ArgumentError, match=r"not a DataFrame .*found: 'select 1', .*write spark.sql\('select 1'\)"):
        xskip.explain("select 1")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="not a DataFrame"):
        xskip.explain(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("predicate", [lambda c: c, True, 5, None, ["a"]])
def test_predicates_of_another_type(made: SkippingIndex, predicate: Any) -> None:
    with pytest.raises(
        PredicateError, match=r"neither SQL nor a Column .found: .*; expected: a condition such as .*col"
    ):
        made.files(predicate, require_index=False)


@pytest.mark.parametrize(
    ("predicate", "what"),
    [
        ("", "the predicate is empty"),
        ("ts >", "Spark cannot parse the predicate .where: ts >; found: the end"),
        ("SELECT ts FROM events", "the predicate is a statement .where: SELECT ts FROM events; found: SELECT at"),
        ("ts", "Spark cannot resolve the predicate .*"),
    ],
)
def test_predicates_that_are_no_conditions(made: SkippingIndex, predicate: str, what: str) -> None:
    with pytest.raises(PredicateError, match=rf'{what}.*expected: a condition such as "ts'):
        made.files(predicate, require_index=False)


def test_indexes_to_remove(spark: SparkSession, tmp_path: Path) -> None:
    """The hint names the index on the same column, or on a similar one, and never just any index."""
    path = write_once(spark, tmp_path / "data", SCHEMA, {"a": [(1, "oslo", (1.0, 2.0))]})
    made = index(spark, path, [MinMax("ts"), ValueList("city")])
    for name, meant in [
        ("citty", r"\); did you mean valuelist\(city\)\?"),
        ("valuelist(city", r"\); did you mean valuelist\(city\)\?"),
        ("minmax(city)", r"\); did you mean valuelist\(city\)\?"),
        ("minmax(tss)", r"\); did you mean minmax\(ts\)\?"),
        ("minmax(user_id)", r"expected: one of minmax\(ts\), valuelist\(city\)\)$"),
    ]:
        with pytest.raises(IndexDefinitionError, match=f"has no such index .found: .*{meant}"):
            made.remove([name])


def test_views(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).createOrReplaceTempView("a_view")
    with pytest.raises(DatasetError, match=r"^a view has no files of its own; index the table or path that the view"):
        SkippingIndex.for_table(spark, "a_view").create([MinMax("id")])


def test_files_of_reports(spark: SparkSession, tmp_path: Path) -> None:
    report = xskip.report(spark.range(3).filter("id = 1"))
    with pytest.raises(StorageError, match=r"cannot write the report .*found: No such file or directory"):
        report.save(tmp_path / "none" / "report.html")
