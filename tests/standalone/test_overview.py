"""The overview of the indexes below a directory: fresh, outdated, deleted and unreadable ones [STA-OV]."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

import xskip
from tests.cli.calls import call, call_json
from tests.helpers import index, kept, write_files
from tests.results.browser import needs_chromium, rendered
from xskip import MinMax, ValueList
from xskip.errors import ArgumentError
from xskip.hints import in_shell_words
from xskip.results.overview import Overview
from xskip.results.savings import DatasetSavings, Savings

FILES = {f"f{i}": [(i, f"s{i}")] for i in range(4)}
SCHEMA = "a int, s string"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Path:
    """Return a directory with an index in each state."""
    root = tmp_path / "lake"
    paths = {
        name: write_files(spark, root / name, SCHEMA, FILES, fmt)
        for name, fmt in (("fresh", "parquet"), ("deep/new & old", "avro"), ("gone", "parquet"), ("torn", "parquet"))
    }
    for name, path in paths.items():
        index(spark, path, [MinMax("a"), ValueList("s")], "avro" if "new" in name else "parquet")
    changed = Path(paths["deep/new & old"])
    write_files(spark, changed, SCHEMA, {"f8": [(8, "s8")], "f9": [(9, "s9")], "f0": [(100, "changed")]}, "avro")
    (changed / "f1.avro").unlink()
    spark.createDataFrame([(1, "x")], SCHEMA).write.mode("overwrite").parquet(paths["gone"])
    for file in Path(paths["torn"]).glob("_xskip/*/part-*"):
        file.write_bytes(b"torn")
    (root / "empty").mkdir()
    return root


def states(found: Overview, root: Path) -> dict[str, tuple[str, int, bool]]:
    return {each.dataset.removeprefix(f"{root}/"): (each.state, each.files, each.is_fresh) for each in found}


def test_every_state(lake: Path, spark: SparkSession) -> None:
    """[STA-OV-1] [STA-OV-2] The states are the same with a session and without."""
    found = xskip.overview(lake)
    assert states(found, lake) == {
        "deep/new & old": ("2 new, 1 changed, 1 deleted", 4, False),
        "fresh": ("all files indexed", 4, True),
        "gone": ("index deleted", 0, False),
        "torn": ("not known", 0, False),
    }
    assert {each.dataset.rpartition("/")[2] for each in found.outdated} == {"new & old", "gone", "torn"}
    problems = {each.dataset.rpartition("/")[2]: str(each.problem) for each in found if each.problem}
    assert problems["gone"].startswith("the dataset was overwritten since its indexes were defined (20")
    assert problems["torn"].startswith("a metadata file differs from its commit record; ")
    assert problems.keys() == {"gone", "torn"}
    with_session = xskip.overview(str(lake), spark=spark)
    assert with_session.indexes == found.indexes


def test_other_formats_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-OV-2] A setting or option of the reader has no effect on the comparison without a session."""
    path = write_files(spark, tmp_path / "csv", SCHEMA, FILES, "csv")
    made = xskip.SkippingIndex.for_path(spark, path, format="csv", schema=SCHEMA, options={"header": "true"})
    made.create([MinMax("a")])
    (only,) = xskip.overview(tmp_path)
    assert (only.format, only.state, only.is_fresh, only.commit is not None) == ("csv", "all files indexed", True, True)


def test_an_index_in_a_base_location_whose_dataset_is_gone(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """[STA-OV-5] It is neither outdated nor in the metrics, and the command in the text removes it [MDS-DC-7]."""
    base = tmp_path / "md"
    spark.conf.set("spark.xskip.metadata.location", str(base))
    path, other = (write_files(spark, tmp_path / name, SCHEMA, FILES) for name in ("my data", "other"))
    for each in (path, other):
        index(spark, each, [MinMax("a")])
    os.rename(path, tmp_path / "moved")
    found = xskip.overview(base)
    assert xskip.overview(base, spark=spark).indexes == found.indexes
    gone, present = found
    assert (gone.dataset, gone.files, gone.status, gone.fault) == (path, 4, None, "dataset gone")
    assert present.is_fresh
    assert (found.outdated, "my data" in found.to_prometheus()) == ((), False)
    assert str(gone.problem) == (
        "the dataset does not exist any more; drop() removes its index, adopt() takes it over for a new path"
    )
    removal = f"xskip drop '{path}' --location {base}"
    assert f"{path}: the dataset does not exist any more; {removal} removes" in call(
        capsys, "list", str(base), "--check"
    )
    assert "metadata files  1" in call(capsys, *shlex.split(removal)[1:])
    assert [each.dataset for each in xskip.overview(base)] == [other]
    assert kept(spark, other, "a = 2") == {"f2"}


def test_an_index_in_a_chosen_directory_whose_dataset_is_gone(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """[STA-OV-5] [MDS-DC-7]"""
    place = tmp_path / "md" / "of data"
    path = write_files(spark, tmp_path / "data", SCHEMA, FILES)
    xskip.SkippingIndex.for_path(spark, path).at(str(place)).create([MinMax("a")])
    shutil.rmtree(path)
    (only,) = xskip.overview(tmp_path / "md")
    removal = f"xskip drop {path} --at '{place}'"
    assert (only.fault, removal in in_shell_words(only.problem)) == ("dataset gone", True)
    call(capsys, *shlex.split(removal)[1:])
    assert not place.exists()


def test_a_dataset_that_cannot_be_listed_is_not_gone(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-OV-5]"""
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "md"))
    path = write_files(spark, tmp_path / "data", SCHEMA, FILES)
    index(spark, path, [MinMax("a")])
    (Path(path) / "dangling.parquet").symlink_to(tmp_path / "none")
    (only,) = xskip.overview(tmp_path / "md")
    assert (only.fault, only.state) == (None, "not known")
    assert str(only.problem).startswith("a file of the dataset cannot be listed; ")


def test_a_copy_has_the_index_of_another_dataset(lake: Path, spark: SparkSession) -> None:
    """[STA-OV-1]"""
    shutil.copytree(lake / "fresh", lake / "twin")
    states = {each.dataset.rpartition("/")[2]: each for each in xskip.overview(lake)}
    assert states["fresh"].is_fresh
    assert str(states["twin"].problem) == f"the index is that of {lake}/fresh; call adopt()"
    assert (states["twin"].fault, states["twin"].state) == ("index of another path", "index of another path")
    xskip.SkippingIndex.for_path(spark, str(lake / "twin")).adopt()
    (only,) = (each for each in xskip.overview(lake) if each.dataset.endswith("/twin"))
    assert only.is_fresh


def test_a_dataset_whose_directory_is_gone(lake: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession) -> None:
    """[STA-OV-5] It is shown, and is neither outdated nor in the metrics; an empty directory is not gone."""
    for name in ("gone", "deep"):
        shutil.rmtree(lake / name)
    shutil.rmtree(lake / "torn")
    (lake / "torn").mkdir()
    xskip.SkippingIndex.for_path(spark, str(lake / "fresh")).refresh()
    found = xskip.overview(lake)
    assert xskip.overview(lake, spark=spark).indexes == found.indexes
    assert states(found, lake) == {
        "fresh": ("all files indexed", 4, True), "gone": ("dataset gone", 0, False), "torn": ("index deleted", 0, False)
    }  # fmt: skip
    gone = found.indexes[1]
    assert (gone.fault, str(gone.problem)) == (
        "dataset gone", "the dataset does not exist any more; drop() forgets it",
    )  # fmt: skip
    assert [each.dataset for each in found.outdated] == [f"{lake}/torn"]
    assert "1 of 2 <small>indexes" in found.to_html()
    assert "/gone" not in found.to_prometheus()
    shutil.rmtree(lake / "torn")
    text = call(capsys, "list", str(lake), "--check")
    assert f"{lake}/gone: the dataset does not exist any more; xskip drop {lake}/gone forgets it" in text
    assert [each["fault"] for each in call_json(capsys, "list", str(lake))["indexes"]] == [
        None, "dataset gone", "dataset gone",
    ]  # fmt: skip
    for name in ("gone", "torn"):
        xskip.SkippingIndex.for_path(spark, str(lake / name)).drop()
    assert states(xskip.overview(lake), lake) == {"fresh": ("all files indexed", 4, True)}


def test_what_cannot_be_listed_prevents_nothing(lake: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[STA-OV-1]"""
    if os.geteuid() == 0:
        locked = None
    else:
        locked = lake / "locked"
        locked.mkdir(mode=0)
    (lake / "fresh" / os.fsdecode(b"\xff.parquet")).write_bytes(b"x")
    found = {each.dataset.rpartition("/")[2]: each for each in xskip.overview(lake)}
    assert found.keys() == {"new & old", "fresh", "gone", "torn"}
    assert str(found["fresh"].problem).startswith("the name of a file of the dataset is no UTF-8")
    assert any("locked" in message for message in caplog.messages) is (locked is not None)
    assert 'dataset="' in xskip.overview(lake).to_prometheus()


def test_as_text_json_and_page(lake: Path) -> None:
    found = xskip.overview(lake)
    lines = str(found).splitlines()
    assert [line.split("  ")[0] for line in lines[2:6]] == [each.dataset for each in found]
    assert len(lines) == 6 + 1 + 3
    assert lines[7] == f"{lake}/deep/new & old: 2 new, 1 changed, 1 deleted; call refresh()"
    told = json.loads(json.dumps(found.to_dict()))
    assert [each["status"] and each["status"]["missing"] for each in told["indexes"]] == [3, 0, None, None]
    assert told["indexes"][1]["commit"].endswith("+00:00")
    page = found.to_html()
    assert page.index("torn") < page.index("/fresh")
    assert "new &amp; old" in page
    assert '<td colspan="5">call refresh()</td>' in page
    assert "<script" not in page
    assert str(xskip.overview(lake / "empty")) == "no index"


def test_metrics(lake: Path) -> None:
    """[STA-OV-3]"""
    families = {family.name: family for family in text_string_to_metric_families(xskip.overview(lake).to_prometheus())}
    values = {
        name: {sample.labels.get("dataset", "").rpartition("/")[2]: sample.value for sample in family.samples}
        for name, family in families.items()
    }
    assert values["xskip_index_fresh"] == {"fresh": 1, "new & old": 0, "gone": 0, "torn": 0}
    assert values["xskip_index_files"] == {"fresh": 4, "new & old": 4, "gone": 0, "torn": 0}
    assert values["xskip_index_new_files"] == {"fresh": 0, "new & old": 2}
    assert values["xskip_index_changed_files"] == {"fresh": 0, "new & old": 1}
    assert values["xskip_index_deleted_files"] == {"fresh": 0, "new & old": 1}
    assert values["xskip_index_last_commit_timestamp_seconds"].keys() == {"fresh", "new & old"}
    assert values["xskip_overview_timestamp_seconds"][""] > 1.7e9


def test_the_command(lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", None)
    text = call(capsys, "list", str(lake), "--check", code=1)
    assert f"run xskip refresh {lake}/gone, which builds the same index again" in text
    assert f"1 deleted; run xskip refresh '{lake}/deep/new & old'\n" in text
    listed = {each["dataset"].rpartition("/")[2]: each for each in call_json(capsys, "list", str(lake))["indexes"]}
    assert listed.keys() == {"new & old", "fresh", "gone", "torn"}
    assert listed["new & old"]["advice"] == f"run xskip refresh '{lake}/deep/new & old'"
    assert f"run xskip refresh {lake}/gone" in listed["gone"]["problem"]
    assert call_json(capsys, "list", str(lake / "fresh"), "--check")["indexes"][0]["is_fresh"]
    assert "run xskip refresh" in call(capsys, "list", str(lake), "--format", "html")
    assert "# TYPE xskip_index_fresh gauge" in call(capsys, "list", str(lake), "--format", "prometheus")


def test_invalid_arguments(spark: SparkSession, tmp_path: Path) -> None:
    from pyarrow.fs import LocalFileSystem

    with pytest.raises(ArgumentError, match="a session has its own file systems"):
        xskip.overview(tmp_path, spark=spark, filesystem=LocalFileSystem())
    with pytest.raises(ArgumentError):
        xskip.overview(3)  # type: ignore[arg-type]


@needs_chromium
@pytest.mark.parametrize("width", [500, 390])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_page_fits_a_phone(lake: Path, tmp_path: Path, mode: str, width: int) -> None:
    """[REP-P-6]"""
    found = xskip.overview(lake)
    sums = (DatasetSavings(each.dataset, 12, 1200, 5_000_000_000, 1100, 4_500_000_000, 3.0) for each in found)
    page = rendered(found.with_savings(Savings(12, None, tuple(sums)), 30).to_html(), tmp_path, mode, width=width)
    texts = [each for each in page.elements if each.text and each.tag not in ("style", "title")]
    assert {"index deleted", "4.2 GiB of 4.7 GiB"} <= {each.text for each in texts}
    assert page.width <= width
    assert [each for each in texts if each.left < 0 or each.right > width] == []
