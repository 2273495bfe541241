"""The request of a scan, which the engine parses once from the JSON text that the hook sends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from xskip.errors import SettingError, XskipError
from xskip.expressions.operands import Column
from xskip.metadata.read_profile import ReadProfile
from xskip.metadatastore.location import IndexLocation
from xskip.settings import JOB_FILES

__all__ = ["FactsRequest", "RequestError", "RequestHeader", "ScanRequest"]

T = TypeVar("T")
#: The mark of an object that the hook encodes only by its class (JVM-RQ-3).
_UNENCODED = '"?":'
_NO_LOCATION = IndexLocation("", "", "")


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """The part of a request that the engine needs to report a problem; the defaults stand for an unparsable request."""

    id: int = -1
    location: IndexLocation = _NO_LOCATION
    #: Whether the query fails if the index cannot be used.
    strict: bool = False
    #: Whether no query reads the files, because the request serves ``xskip.explain`` or ``index.files``.
    explains: bool = False


class RequestError(XskipError):
    """Error for a request that is malformed, or whose session has an invalid setting."""

    #: The header of the request, as far as the header can be parsed.
    header = RequestHeader()


@dataclass(frozen=True, slots=True)
class FactsRequest:
    """The conditions, the columns and the predicates of a planner's question about files."""

    #: The conditions that all rows of a file that matches wholly satisfy, in the encoding of the filters.
    conditions: Sequence[Any]
    #: The columns of which the planner needs the bounds and the numbers of NULLs.
    columns: tuple[Column, ...]
    #: The predicates of which the planner needs the files where no row, and where all rows satisfy them.
    predicates: Sequence[Any] = ()
    #: For each column what the rewrite does with it, in order; empty if the request does not tell.
    needs: tuple[tuple[str, ...], ...] = ()
    #: The number of rows that the query needs; 0 for all.
    rows: int = 0
    #: Whether the answer can be about parts of files.
    of_parts: bool = False

    @classmethod
    def parse(cls, members: object) -> FactsRequest | None:
        """Return the request in the members of a scan's request, or None."""
        if not isinstance(members, dict) or "facts" not in members:
            return None
        facts = members["facts"]
        columns = (Column(tuple(path), kind) for _, path, kind in _member(facts, "columns", list))
        predicates = _member(facts, "predicates", list) if "predicates" in facts else ()
        needs = _member(facts, "needs", list) if "needs" in facts else ()
        rows = _member(facts, "rows", int) if "rows" in facts else 0
        columns_needs = tuple(tuple(sorted(str(each).split(","))) for each in needs)
        of_parts = _member(facts, "parts", bool) if "parts" in facts else False
        return cls(_member(facts, "whole", list), tuple(columns), predicates, columns_needs, rows, of_parts)

    def text(self) -> str:
        """Return a text that equal requests have."""
        columns = [(column.path, column.type) for column in self.columns]
        return json.dumps((self.conditions, columns, list(self.predicates), self.needs, self.rows, self.of_parts))


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """The request of a scan: which files of a dataset can the scan skip."""

    header: RequestHeader
    #: The filters in the hook's encoding, for :func:`~xskip.spark.catalyst.filter_decoder.to_predicate`.
    filters: Sequence[Any]
    filters_text: str
    #: What the answer has to state of each file beside "skip"; None if nothing.
    facts: FactsRequest | None
    #: Spark's short name of the file format, or the class of a plugin's format.
    format: str
    #: The reader options.
    options: Mapping[str, str]
    #: The settings of the session that can change the values that Spark reads.
    settings: Mapping[str, str]
    #: What decides the values of single columns, as JSON.
    columns: str
    #: The partition columns of the relation, with their Spark types.
    partition_types: Mapping[str, str]
    #: The settings of the session on which the values of expressions depend.
    expression_settings: str
    #: The number of files above which a Spark job prunes the metadata.
    job_threshold: int
    #: The name of the rewrite that knows the filters as the query runs; empty for filters of the plan.
    rewrite: str = ""
    #: Whether the scan can read ranges of files.
    takes_ranges: bool = False

    @staticmethod
    def parse(text: str) -> ScanRequest:
        """Parse a request in the form of JVM-RQ-1; members with other names have no effect."""
        try:
            members = json.loads(text)
        except ValueError as error:
            raise RequestError("the hook sent a request that is not valid JSON", found=str(error)) from error
        header = _header(members)
        try:
            filters = _member(members, "filters", list)
            return ScanRequest(
                header,
                filters=filters,
                filters_text=json.dumps(filters),
                facts=FactsRequest.parse(members),
                format=_member(members, "format", str),
                options=_texts(members, "options"),
                settings=_texts(members, "conf"),
                columns=_member(members, "columns", str),
                partition_types=_texts(members, "partitions"),
                expression_settings=_member(members, "evaluated", str),
                job_threshold=_job_threshold(members),
                rewrite=_member(members, "rewrite", str) if "rewrite" in members else "",
                takes_ranges=_member(members, "ranges", bool) if "ranges" in members else False,
            )
        except RequestError as error:
            error.header = header
            raise

    @property
    def is_of_plan(self) -> bool:
        """Return whether the hook states later whether a query has read the files: a rewrite has sent the request."""
        return self.facts is not None or self.rewrite != ""

    def read_profile(self) -> ReadProfile:
        """Return how the query reads the data files."""
        return _profile(self.format, tuple(self.options.items()), tuple(self.settings.items()), self.columns)

    def cache_key(self) -> str:
        """Return the key under which the engine caches the decision about this request by a snapshot."""
        # The key omits the format and the columns, because the engine compares the read profile of every request with
        # the profile of the build.
        others = (
            self.options, self.settings, self.partition_types, self.expression_settings, self.job_threshold,
            "" if self.facts is None else self.facts.text(), self.rewrite, self.takes_ranges,
        )  # fmt: skip
        return self.filters_text + json.dumps(others)

    @property
    def is_partly_encoded(self) -> bool:
        """Return whether the hook omits a part of the filters, so that equal encodings can stand for other filters."""
        return _UNENCODED in self.filters_text or (self.facts is not None and _UNENCODED in self.facts.text())


_Texts = tuple[tuple[str, str], ...]


@lru_cache(maxsize=256)
def _profile(fmt: str, options: _Texts, settings: _Texts, columns: str) -> ReadProfile:
    """Return the profile of equal requests as one object, which snapshots compare once."""
    return ReadProfile.of(fmt, dict(options), dict(settings), json.loads(columns))


def _header(members: object) -> RequestHeader:
    fields = _member(members, "location", dict)
    location = IndexLocation(*(_member(fields, name, str) for name in ("root", "directory", "identifier")))
    number, strict, explains = _member(members, "id", int), _member(members, "strict", bool), _explains(members)
    return RequestHeader(number, location, strict, explains)


def _explains(members: object) -> bool:
    return isinstance(members, dict) and members.get("explains") is True


def _member(members: object, name: str, kind: type[T]) -> T:
    """Return a member of a JSON object after a check of its type."""
    if not isinstance(members, dict):
        raise RequestError(
            "the hook sent a request that is not a JSON object", found=type(members).__name__, expected="an object"
        )
    if name not in members:
        raise RequestError("the hook sent a request without a required member", where=name)
    value = members[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RequestError(
            "the hook sent a request with a member of another type",
            where=name,
            found=type(value).__name__,
            expected=kind.__name__,
        )
    return value


def _texts(members: object, name: str) -> dict[str, str]:
    texts = _member(members, name, dict)
    return {key: _member(texts, key, str) for key in texts}


def _job_threshold(members: object) -> int:
    try:
        return JOB_FILES.of(_member(members, "jobFiles", str))
    except SettingError as error:
        raise RequestError(str(error)) from error
