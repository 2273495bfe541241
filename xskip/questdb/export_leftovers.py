"""Files of exports that ended before their commit. Rules: [QDB-CT-7]."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from xskip.errors import StorageError, TableChangedError
from xskip.metadatastore.filesystem import PutInDoubtError
from xskip.spark.questdb.cold_tier import ColdRecords

__all__ = ["Announcements"]

_FOLDER = "_questdb"
_SUFFIX = ".announced"
_DAY_MS = 86_400_000
#: The age in milliseconds from which on an export counts as ended.
_ENDED_MS = 7 * _DAY_MS


class Announcements:
    """The exports of a cold tier that have begun and not ended."""

    def __init__(self, records: ColdRecords) -> None:
        self._records = records
        self._storage = records.storage

    @contextmanager
    def announced(self, folders: Sequence[str]) -> Iterator[str]:
        """Run the body with the token of an export. If the body fails, remove what the export wrote into folders."""
        # the names of the files of an export begin with its token, which is announced before the first file is written
        token = uuid.uuid4().hex
        self._storage.put_if_absent(self._path(token), json.dumps([*folders]).encode())
        try:
            yield token
        except PutInDoubtError:
            raise  # the record may exist, and needs the files
        except BaseException:
            with suppress(StorageError):  # the first error is more important; a later export removes the files
                self._remove(token, folders)
            raise
        with suppress(StorageError):
            self._storage.remove([self._path(token)])

    def check(self, token: str) -> None:
        """Check that no other export has removed the files of an export, because it has counted this one as ended."""
        if not any(entry.name == token + _SUFFIX for entry in self._records.files(_FOLDER)):
            raise TableChangedError(
                "another export has removed the files of this export, which has lasted for more than a week",
                where=self._records.root, hint="export fewer partitions at a time",
            )  # fmt: skip

    def remove_ended(self) -> None:
        """Remove the files of exports that ended before their commit."""
        limit = time.time() * 1000 - _ENDED_MS
        for entry in self._records.files(_FOLDER):
            if entry.name.endswith(_SUFFIX) and entry.modified < limit:
                token = entry.name.removesuffix(_SUFFIX)
                with suppress(FileNotFoundError):  # another export has removed the files
                    self._remove(token, json.loads(self._storage.read(self._path(token))))

    def _remove(self, token: str, folders: Sequence[str]) -> None:
        """Remove the files of an export that no record names."""
        tier = self._records.last()
        committed = {file.path for partition in tier.partitions for file in partition.files} if tier else set()
        for folder in folders:
            paths = [f"{folder}/{e.name}" for e in self._records.files(folder) if e.name.startswith(token)]
            self._records.remove([path for path in paths if path not in committed])
        self._storage.remove([self._path(token)])

    def _path(self, token: str) -> str:
        return f"{self._records.root}/{_FOLDER}/{token}{_SUFFIX}"
