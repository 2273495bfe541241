"""The data systems whose extensions of the hook send requests to Python, with the functions that answer them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xskip.spark.bridge.gateway import Hook
from xskip.spark.questdb.tables import TableAnswers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["extension_answers"]


def extension_answers(hook: Hook, session: Callable[[], SparkSession]) -> dict[str, Callable[[str], bytes | None]]:
    """Return the functions that answer the requests of extensions, by name. They never raise."""
    return {"questdb": TableAnswers(hook, session).answer}
