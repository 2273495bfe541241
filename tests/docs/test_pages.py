"""Every code block of the README and of the site runs and prints what the page says, or the page says why it does not.

``XSKIP_WRITE_OUTPUTS=1 pytest tests/docs/test_pages.py`` writes what the blocks print into the pages.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.docs.blocks import blocks_in, with_outputs
from tests.docs.pages import ROOT, pages, prepare
from tests.docs.running import Run, alike
from xskip.metadatastore.writers import Writer
from xskip.xskipper import Xskipper

WRITES = os.environ.get("XSKIP_WRITE_OUTPUTS") == "1"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_and_print_what_it_shows(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name == "xskipper.rst" and not pyspark.__version__.startswith("4.1."):
        pytest.skip("the page shows the sizes of files that Spark 4.1 writes")
    blocks = blocks_in(page.read_text(encoding="utf-8"))
    needs_spark = any(not block.not_run and block.language in ("python", "shell") for block in blocks)
    spark = request.getfixturevalue("spark") if needs_spark else None
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xskip.metadatastore.writers._declared", Writer("etl", "nightly (application_42)"))
    if spark is not None:
        request.addfinalizer(lambda: Xskipper.reset(spark))  # pages configure Xskipper's classes for the process
    places, names = prepare(page, request, tmp_path, spark)
    run = Run(page, places, names)
    printed = [run.run(block) for block in blocks]
    if WRITES:
        page.write_text(with_outputs(page, printed), encoding="utf-8")
        return
    for block, output in zip(blocks, printed, strict=True):
        if block.output is not None and output is not None:
            shown, found = alike(block.output, output)
            assert found == shown, f"{page}:{block.line}"


def test_outputs_of_blocks_that_run_are_compared() -> None:
    shown = [b for page in pages() for b in blocks_in(page.read_text(encoding="utf-8")) if b.output is not None]
    assert len([block for block in shown if not block.not_run]) > 10


def test_a_wrong_output_is_found() -> None:
    assert len(set(alike("3 read, 9 skipped (75 %)", "3 read, 8 skipped (66 %)"))) == 2
    assert len(set(alike("time     1.5 ms in the index", "time     22.0 ms in the index"))) == 1
    assert len(set(alike("bytes    10 B in all", "bytes  1.5 KiB in all"))) == 1
    assert len(set(alike("ID 2 on the page", "ID 4045 on the page"))) == 1


def test_marks_belong_to_the_block_after_them() -> None:
    text = ".. not run: it needs a broker\n\n.. code-block:: python\n\n   a = 1\n\n.. code-block:: python\n\n   b = 1\n"
    assert [(b.code, b.not_run, b.line) for b in blocks_in(text)] == [
        ("a = 1\n", "it needs a broker", 5),
        ("b = 1\n", "", 9),
    ]


def test_outputs_are_written_into_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text(
        ".. code-block:: python\n\n   print(2)\n\n.. code-block:: text\n   :class: output\n\n   1\n\nThe end.\n"
    )
    (block,) = blocks_in(page.read_text())
    assert block.output == "1\n"
    assert with_outputs(page, ["2\n\n3\n"]) == page.read_text().replace("   1\n", "   2\n\n   3\n")
