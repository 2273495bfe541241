"""An engine without a JVM: a hook that notes its calls, and indexes on the local disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from tests.metadatastore.samples import ROOT, numbered_table, replace_all
from xskip.metadatastore.filesystem import LocalStorage
from xskip.spark.bridge.gateway import Hook


class FakeHook:
    """A hook without a JVM, which has its own operations on snapshots and locations."""

    def __init__(self) -> None:
        self.queries = self.locations = self
        self.tokens: dict[str, int] = {}
        self.forgotten = 0
        self.settings_wide: dict[str, str | None] = {}

    def register(self, directory: str, token: int, files: Any, *, has_parts: bool) -> None:
        self.tokens[directory] = token

    def unregister(self, directory: str) -> None:
        self.tokens.pop(directory, None)

    def forget_directories(self) -> None:
        self.forgotten += 1

    def set_process_wide(self, key: str, value: str | None) -> None:
        self.settings_wide[key] = value

    @property
    def hook(self) -> Hook:
        """Return this object with the type of a hook."""
        return cast(Hook, self)


def put_index(directory: Path, start: int, stop: int) -> str:
    """Commit an index of numbered files, in place of the index that is there."""
    scratch = directory.with_name(f"{directory.name}-scratch")
    replace_all(LocalStorage(), str(directory), scratch, [numbered_table(start, stop)])
    return str(directory)


def request_text(directory: str, **members: Any) -> str:
    """Return the request of a scan with ``k = 5``, as the hook writes it."""
    request = {
        "id": 1,
        "strict": False,
        "jobFiles": "",
        "location": {"root": ROOT, "directory": directory, "identifier": ROOT},
        "format": "parquet",
        "options": {},
        "conf": {},
        "evaluated": "",
        "columns": "{}",
        "partitions": {},
        "filters": [["EqualTo", ["$", ["k"], "int"], ["#", "int", 5]]],
    }
    return json.dumps(request | members)
