"""The progress of a replay, in a file. Rule: QLK-RP-5."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xskip.errors import ReplayError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xskip.quixlake.replay_order import StreamId

__all__ = ["Progress", "SavedState", "load_state"]

_VERSION = 1


@dataclass(frozen=True, slots=True)
class SavedState:
    """The content of a state file."""

    #: The target and the options that decide what is sent.
    replay: Mapping[str, Any]
    #: The milliseconds by which the replay moves timestamps; None moves none.
    shift: int | None
    #: The last offset of each stream that the target has confirmed together with all before it.
    confirmed: Mapping[StreamId, int]


def load_state(path: str | None) -> SavedState | None:
    """Return the content of a state file, or None if the file does not exist."""
    if path is None:
        return None
    try:
        with _storage("read", path):
            text = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    try:
        content = json.loads(text)
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']}")
        confirmed = {(topic, int(partition)): int(offset) for topic, partition, offset in content["confirmed"]}
        shift = content["shift"]
        return SavedState(dict(content["replay"]), None if shift is None else int(shift), confirmed)
    except (ValueError, TypeError, KeyError) as error:
        raise ReplayError(
            "the file is not the state of a replay", where=path, found=f"{type(error).__name__}: {error}",
            hint="remove the file to replay all messages",
        ) from error  # fmt: skip


class Progress:
    """The offsets that a target has confirmed; a ``path`` of None saves nothing."""

    def __init__(self, path: str | None, state: SavedState) -> None:
        self._path, self._state = path, state
        self._confirmed = dict(state.confirmed)
        self._streams: dict[StreamId, deque[Sent]] = {}
        self.messages = 0

    @property
    def confirmed(self) -> dict[StreamId, int]:
        """Return the last offset of each stream that counts."""
        return dict(self._confirmed)

    def sent(self, stream: StreamId, offset: int) -> Sent:
        """Return the entry of a message that is about to be sent."""
        waiting = self._streams.setdefault(stream, deque())
        entry = Sent(self, stream, offset)
        waiting.append(entry)
        return entry

    def advance(self, stream: StreamId) -> None:
        """Count the confirmed messages of a stream up to the first one that is not confirmed."""
        waiting = self._streams[stream]
        # A target can confirm messages of a stream out of order, if they go to several partitions. An offset counts
        # when all offsets before it are confirmed [QLK-RP-5].
        while waiting and waiting[0].confirmed:
            self._confirmed[stream] = waiting.popleft().offset

    def save(self) -> None:
        """Write the state file."""
        if self._path is None:
            return
        content = {
            "version": _VERSION,
            "replay": dict(self._state.replay),
            "shift": self._state.shift,
            "confirmed": [[topic, partition, offset] for (topic, partition), offset in self._confirmed.items()],
        }
        # The state file appears complete or not at all.
        partial = f"{self._path}.partial"
        with _storage("write", self._path):
            with open(partial, "w", encoding="utf-8") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self._path)


@dataclass(slots=True)
class Sent:
    """A message that was sent, until the target confirms it."""

    progress: Progress
    stream: StreamId
    offset: int
    confirmed: bool = field(default=False)

    def confirm(self) -> None:
        """Note that the target has confirmed the message."""
        self.confirmed = True
        self.progress.messages += 1
        self.progress.advance(self.stream)


@contextmanager
def _storage(action: str, path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        if action == "read":
            raise
        raise StorageError(f"cannot {action} the state of a replay", where=path, found="no such directory") from None
    except OSError as error:
        raise StorageError(f"cannot {action} the state of a replay", where=path, found=str(error)) from error
