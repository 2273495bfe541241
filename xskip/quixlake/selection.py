"""Selections of messages: a topic, stream keys, a window of time, partitions and offsets. Rules: [QLK-RD-2]."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import PredicateError
from xskip.quixlake.arguments import check_topic, check_topics
from xskip.quixlake.token import TopicState

__all__ = ["Filters", "Moment", "OneOf", "Range", "Selection", "Trust"]

#: A moment: a datetime, milliseconds since the Unix epoch, or a text such as ``2026-01-31 09:00``.
Moment: TypeAlias = "datetime.datetime | int | str"
#: Which claims about timestamps count as bounds [QLK-TR-2].
Trust: TypeAlias = Literal["checked", "names"]
#: The first offset and the one after the last; None leaves an end open.
Offsets: TypeAlias = "tuple[int | None, int | None]"
_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


class Filters(TypedDict, total=False):
    """The filters of a selection: the end of each range is exclusive, and is not selected itself.

    Parameters
    ----------
    keys : str or iterable of str or None
        The stream keys, or one of them; None among them is the null key.
    start, end : datetime, int or str
        The window of time: from ``start`` on, and before ``end``. A number is milliseconds since the Unix epoch; a text
        such as ``2026-01-31 09:00`` and a datetime without a zone are in UTC.
    partitions : int, iterable of int, or mapping of str to these
        The Kafka partitions, or one of them; a mapping has those of each topic, and restricts no other topic.
    offsets : tuple of int, or mapping of str to tuple of int
        The first offset and the one after the last, so that ``(5, 8)`` selects 5, 6 and 7. None leaves an end open. A
        mapping has the offsets of each topic, and restricts no other topic.
    metadata : mapping of str to str or iterable of str
        The custom metadata of stream keys: the value, or the allowed values, of each name.
    trust : {"checked", "names"}
        Which timestamps of segments decide what is read, besides the window itself. ``checked``, the default: only
        those that were computed from all messages, as xskip's sink does; segments of other writers are then read
        whatever the window. ``names``: also those that descriptors and names claim. **This loses messages** where they
        are not least and greatest ones, so it is for producers whose timestamps never decrease within a partition.
    distinct_offsets : bool
        Whether each offset of a partition occurs once, where sinks have written messages repeatedly.
    since, until : str, or mapping of str to str
        Tokens of the topic, which ``token(topic)`` returns: the messages that came to the lake after ``since`` was
        made, and before ``until`` was. None leaves an end open. Several topics need a mapping, which restricts the
        topics that it has.
    """

    keys: str | Iterable[str | None] | None
    start: Moment | None
    end: Moment | None
    partitions: int | Iterable[int] | Mapping[str, int | Iterable[int]] | None
    offsets: Offsets | Mapping[str, Offsets] | None
    metadata: Mapping[str, str | Iterable[str]] | None
    trust: Trust
    distinct_offsets: bool
    since: str | Mapping[str, str] | None
    until: str | Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class OneOf:
    """The condition that a column has one of some values, or null."""

    column: str
    values: tuple[str, ...] | tuple[int, ...]
    has_null: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Range:
    """The condition that the number in a column lies in a half-open range; None leaves an end open."""

    column: str
    low: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of messages. None selects all; ranges are half-open, and None leaves an end of a range open."""

    topic: str
    #: None in the set is the null key.
    keys: frozenset[str | None] | None = None
    #: Milliseconds since the Unix epoch.
    window: tuple[int | None, int | None] = (None, None)
    partitions: frozenset[int] | None = None
    offsets: tuple[int | None, int | None] = (None, None)
    #: The values of custom metadata, by name, of which a stream key must have one.
    metadata: Mapping[str, list[str]] = field(default_factory=dict)
    trust: Trust = "checked"
    #: Whether each offset of a partition occurs once: of several messages with it, the first one counts [QLK-RD-5].
    distinct_offsets: bool = field(default=False, kw_only=True)
    #: What the topic held when the tokens were made [QLK-TK].
    since: TopicState | None = field(default=None, kw_only=True)
    until: TopicState | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, topic: str, filters: Filters) -> Selection:
        """Return the selection of a topic's messages by filters."""
        check_topic(topic)
        (found,) = cls.of_topics(topic, filters)
        return found

    @classmethod
    def of_topics(cls, topics: str | Sequence[str], filters: Filters) -> list[Selection]:
        """Return the selections of the messages of one or several topics by filters."""
        names = check_topics(topics)
        partitions, offsets = (_by_topic(each, filters.get(each), names) for each in ("partitions", "offsets"))
        tokens = {name: _tokens(name, filters.get(name), names) for name in ("since", "until")}
        of_topics = ("partitions", "offsets", *tokens)
        plain = {name: value for name, value in filters.items() if name not in of_topics}
        shared = cls._of(plain)  # once, because an iterator gives its values only once
        return [
            replace(
                shared,
                topic=topic,
                partitions=_partitions(partitions[topic], topic),
                offsets=_range("range of offsets", *_pair(offsets[topic], topic)),
                since=tokens["since"].get(topic),
                until=tokens["until"].get(topic),
            )
            for topic in names
        ]

    @classmethod
    def _of(cls, filters: Mapping[str, Any]) -> Selection:
        """Return the selection of no topic by filters that are the same for all topics."""
        unknown = sorted(filters.keys() - Filters.__annotations__.keys())
        if unknown:
            raise PredicateError(
                "a selection has no such filter", found=", ".join(unknown), expected=", ".join(Filters.__annotations__)
            )
        trust = filters.get("trust", "checked")
        if trust not in ("checked", "names"):
            raise PredicateError("a kind of trust does not exist", found=repr(trust), expected="'checked' or 'names'")
        distinct = filters.get("distinct_offsets", False)
        if not isinstance(distinct, bool):
            raise PredicateError(
                "distinct_offsets has an invalid value", found=repr(distinct), expected="True or False"
            )
        window = _range("window", filters.get("start"), filters.get("end"))
        keys, metadata = _keys(filters.get("keys")), _conditions(filters.get("metadata"))
        return cls("", keys, window, metadata=metadata, trust=trust, distinct_offsets=distinct)

    def overlapping(self, segments: pa.Table) -> pa.Table:
        """Return the segments, but for deleted ones, that can hold a selected message, by the claims that count."""
        return segments.filter(self.fits(segments))

    def fits(self, segments: pa.Table) -> pa.ChunkedArray:
        """Return for each segment whether it can hold a selected message, see :meth:`overlapping`."""
        kept = pc.invert(segments["is_deleted"])
        if self.keys is not None:
            wanted = pa.array([*self.keys], pa.string())
            kept = pc.and_(kept, pc.is_in(segments["stream_key"], wanted))
        if self.partitions is not None:
            fitting = pc.is_in(segments["partition"], pa.array([*self.partitions], pa.int64()))
            # An unknown partition can be any of them.
            kept = pc.and_(kept, pc.or_(fitting, pc.is_null(segments["partition"])))
        kept = _within(kept, self.offsets, (segments["first"], segments["last"]))
        return _within(kept, self.window, self.times_of(segments))

    def times_of(self, segments: pa.Table) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """Return the bounds of timestamps that count, null for segments without such [QLK-TR-2]."""
        start, end = segments["start"], segments["end"]
        if self.trust == "names":
            return start, end
        start, end = (pc.if_else(segments["is_exact"], each, pa.scalar(None, pa.int64())) for each in (start, end))
        return start, end

    @property
    def of_copies(self) -> Selection:
        """Return the selection of all messages that can be copies of a selected one."""
        return Selection(self.topic, partitions=self.partitions, offsets=self.offsets)

    @property
    def conditions(self) -> list[OneOf | Range]:
        """Return the conditions on the columns of a read, all of which must be TRUE, but for custom metadata."""
        found: list[OneOf | Range] = []
        if self.keys is not None:
            named = tuple(sorted(key for key in self.keys if key is not None))
            found.append(OneOf("stream_key", named, has_null=None in self.keys))
        if self.partitions is not None:
            found.append(OneOf("partition", tuple(sorted(self.partitions))))
        ranges = (Range("offset", *self.offsets), Range("timestamp", *self.window))
        return [*found, *(each for each in ranges if (each.low, each.end) != (None, None))]


def _by_topic(name: str, value: Any, topics: Sequence[str]) -> dict[str, Any]:
    """Return the value of a filter for each topic."""
    if not isinstance(value, Mapping):
        # A list, because an iterator gives its values only once.
        several = name == "partitions" and _is_several(value) and not isinstance(value, Sequence)
        return dict.fromkeys(topics, [*value] if several else value)
    unknown = [topic for topic in value if topic not in topics]
    if unknown:
        raise PredicateError(
            f"{name} has a topic that is not selected", found=repr(unknown[0]), expected=", ".join(topics)
        )
    return {topic: value.get(topic) for topic in topics}


def _tokens(name: str, value: Any, topics: Sequence[str]) -> dict[str, TopicState]:
    """Return the states of the tokens of topics."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) and len(topics) > 1:
        raise PredicateError(
            f"{name} is one token for several topics", found=", ".join(topics),
            expected="a mapping of topics to their tokens",
        )  # fmt: skip
    found = _by_topic(name, value, topics)
    return {topic: TopicState.parse(text, name, topic) for topic, text in found.items() if text is not None}


def _within(
    kept: pa.ChunkedArray, wanted: tuple[int | None, int | None], bounds: tuple[pa.ChunkedArray, pa.ChunkedArray]
) -> pa.ChunkedArray:
    """Restrict a mask to the bounds that overlap a half-open range; unknown bounds overlap every range."""
    low, end = wanted
    if end is not None:
        kept = pc.and_(kept, pc.less(bounds[0], end).fill_null(True))
    if low is not None:
        kept = pc.and_(kept, pc.greater_equal(bounds[1], low).fill_null(True))
    return kept


def _keys(keys: str | Iterable[str | None] | None) -> frozenset[str | None] | None:
    if keys is None:
        return None
    given: object = keys
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise PredicateError("the stream keys are not texts", found=repr(keys), expected="a text, or a list of texts")
    found = frozenset((keys,) if isinstance(keys, str) else keys)
    odd = [key for key in found if not (key is None or isinstance(key, str))]
    if odd:
        raise PredicateError("a stream key is not text", found=repr(odd[0]), expected="texts, or None for a null key")
    return found


def _conditions(metadata: Mapping[str, str | Iterable[str]] | None) -> dict[str, list[str]]:
    """Return the allowed values of each name of custom metadata."""
    if metadata is not None and not isinstance(metadata, Mapping):
        raise PredicateError(
            "the custom metadata is not a mapping", found=repr(metadata), expected="such as {'site': 'Oslo'}"
        )
    # A list, because an iterator gives its values only once.
    found: dict[str, list[Any]] = {
        name: [*wanted] if _is_several(wanted) else [wanted] for name, wanted in (metadata or {}).items()
    }
    odd = [each for name, values in found.items() for each in (name, *values) if not isinstance(each, str)]
    if odd:
        raise PredicateError(
            "a name or a value of custom metadata is not text", found=repr(odd[0]), expected="such as {'site': 'Oslo'}"
        )
    return found


def _is_several(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _partitions(partitions: int | Iterable[int] | None, topic: str) -> frozenset[int] | None:
    if partitions is None:
        return None
    if not isinstance(partitions, (int, Iterable)):
        raise PredicateError("a partition is not a whole number", where=f"topic {topic}", found=repr(partitions))
    found = [partitions] if isinstance(partitions, int) else list(partitions)
    odd = [each for each in found if isinstance(each, bool) or not isinstance(each, int)]
    if odd:
        raise PredicateError("a partition is not a whole number", where=f"topic {topic}", found=repr(odd[0]))
    for each in found:
        _check_size("a partition", each)
    return frozenset(found)


def _check_size(what: str, number: int) -> None:
    if not -(2**63) <= number < 2**63:
        raise PredicateError(f"{what} does not fit into 64 bits", found=str(number))


def _pair(offsets: tuple[int | None, int | None] | None, topic: str) -> tuple[int | None, int | None]:
    if offsets is None:
        return None, None
    if not isinstance(offsets, (tuple, list)) or len(offsets) != 2:
        raise PredicateError(
            "the offsets are not a pair", where=f"topic {topic}", found=repr(offsets),
            expected="the first offset, and the one after the last",
        )  # fmt: skip
    for offset in offsets:
        if offset is not None and (isinstance(offset, bool) or not isinstance(offset, int)):
            raise PredicateError("an offset is not a whole number", where=f"topic {topic}", found=repr(offset))
    return offsets[0], offsets[1]


def _range(what: str, low: Moment | None, end: Moment | None) -> tuple[int | None, int | None]:
    first, after = (None if each is None else milliseconds(each) for each in (low, end))
    for side in (first, after):
        if side is not None:
            _check_size(f"an end of the {what}", side)
    if first is not None and after is not None and after < first:
        raise PredicateError(f"the {what} ends before it starts", found=f"{low} to {end}")
    return first, after


def milliseconds(moment: Moment) -> int:
    """Return a moment in milliseconds since the Unix epoch; a moment without a zone is in UTC.

    >>> milliseconds("2026-01-31 09:00"), milliseconds("2026-01-31T10:00+01:00"), milliseconds(5)
    (1769850000000, 1769850000000, 5)
    """
    if isinstance(moment, int) and not isinstance(moment, bool):
        return moment
    try:
        parsed: datetime.datetime = moment  # type: ignore[assignment]
        if isinstance(moment, str):
            parsed = datetime.datetime.fromisoformat(moment.replace("Z", "+00:00"))
        zoned = parsed if parsed.tzinfo else parsed.replace(tzinfo=_UTC)
        # Rounded up: a timestamp in milliseconds is before the moment if and only if it is before the result.
        return -((_EPOCH - zoned) // _MILLISECOND)
    except (ValueError, AttributeError, TypeError) as error:
        raise PredicateError(
            "a moment cannot be understood", found=repr(moment),
            expected="a datetime, milliseconds since the Unix epoch, or a text such as 2026-01-31 09:00",
        ) from error  # fmt: skip
