"""Checks of the arguments of the API, before anything else that an operation does; each raises ArgumentError."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xskip.column_paths import join_path, split_path
from xskip.errors import ArgumentError, MetadataVersionError, did_you_mean, or_none, shown
from xskip.hints import Argument, Phrase, Words
from xskip.indexes import Index
from xskip.metadatastore.versions import CURRENT_VERSION, OLDEST_VERSION
from xskip.settings import bytes_of, seconds_of

__all__ = [
    "check_build",
    "check_builder",
    "check_choice",
    "check_count",
    "check_flag",
    "check_frame",
    "check_indexes",
    "check_labels",
    "check_options",
    "check_schema",
    "check_seed",
    "check_text",
    "check_texts",
    "check_time",
    "check_version",
    "names_of",
    "part_bytes_of",
]

#: The least number of bytes of a part: each costs a row of statistics, and a request to read it.
LEAST_PART = 64 << 10
_PARTS = ("name", "columns", "params", "storage", "translate")
_EXAMPLE = "a list of indexes, such as [MinMax('ts'), ValueList('city')]"


def check_indexes(indexes: object) -> tuple[Index, ...]:
    """Return the indexes of an argument as a tuple."""
    if isinstance(indexes, str) or not isinstance(indexes, Iterable):
        hint = "put the index into a list" if _is_index(indexes) else None
        raise ArgumentError("the indexes are not in a list", found=shown(indexes), expected=_EXAMPLE, hint=hint)
    found: tuple[Any, ...] = tuple(indexes)
    for each in found:
        if isinstance(each, type):
            raise ArgumentError(
                "the list holds a class instead of an index", found=each.__name__, expected=_EXAMPLE,
                hint=f"write {each.__name__}('column')",
            )  # fmt: skip
        if not _is_index(each):
            raise ArgumentError("the list holds an object that is no index", found=shown(each), expected=_EXAMPLE)
    return found


def names_of(indexes: object) -> tuple[str, ...]:
    """Return the names of existing indexes, such as ``minmax(ts)``, from index types or texts.

    >>> from xskip.indexes import MinMax
    >>> names_of([MinMax("`a`.b"), "valuelist(city)"])
    ('minmax(a.b)', 'valuelist(city)')
    """
    if isinstance(indexes, str):
        raise ArgumentError("the indexes are not in a list", found=shown(indexes), expected=f"[{indexes!r}]")
    if not isinstance(indexes, Iterable):
        return names_of(check_indexes(indexes))
    found = tuple(indexes)
    texts = {position: each for position, each in enumerate(found) if isinstance(each, str)}
    check_indexes(each for each in found if not isinstance(each, str))
    return tuple(texts[i] if i in texts else _name_of(each) for i, each in enumerate(found))


def _name_of(index: Index) -> str:
    columns = index.columns if index.expression else [join_path(split_path(column)) for column in index.columns]
    return f"{index.name}({', '.join(columns)})"


def _is_index(each: object) -> bool:
    # a Column of Spark has every attribute
    named = not isinstance(each, type) and isinstance(getattr(each, "name", None), str)
    return named and all(hasattr(each, part) for part in _PARTS)


def part_bytes_of(parts: object) -> int | None:
    """Return the number of bytes of parts as a commit record states it, from an argument.

    >>> part_bytes_of("8MB"), part_bytes_of(None), part_bytes_of("auto")
    (8388608, 0, None)
    """
    match parts:
        case None:
            return 0
        case "auto":
            return None
        case str() if (size := bytes_of(parts.replace(" ", ""))) is not None and size >= LEAST_PART:
            return size
        case int() if not isinstance(parts, bool) and parts >= LEAST_PART:
            return parts
        case _:
            expected = "'auto', a size of at least 64 KB such as '8MB', or None for no parts"
            raise ArgumentError(_invalid("parts"), found=shown(parts), expected=expected)


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise an error unless an argument is one of its choices."""
    if value not in choices:
        expected = " or ".join(map(repr, choices))
        hint = did_you_mean(value, choices) if isinstance(value, str) else None
        raise ArgumentError(_invalid(name), found=repr(value), expected=expected, hint=hint)


def _invalid(name: str) -> Words:
    return Words("{} has an invalid value", Argument(name))


def check_version(version: object) -> None:
    """Raise an error unless xskip can write a version; a number that it cannot write gives MetadataVersionError."""
    expected = f"{OLDEST_VERSION} to {CURRENT_VERSION}"
    if not isinstance(version, int) or isinstance(version, bool):
        raise ArgumentError("the version is not a whole number", found=shown(version), expected=expected)
    if not OLDEST_VERSION <= version <= CURRENT_VERSION:
        raise MetadataVersionError("xskip cannot write this version", found=f"version {version}", expected=expected)


def check_count(name: str, value: object) -> None:
    """Raise an error unless an argument is None or a positive whole number."""
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ArgumentError(_invalid(name), found=shown(value), expected=or_none("a whole number of at least 1"))


def check_seed(seed: object) -> None:
    """Raise an error unless an argument is a whole number that a generator of random numbers takes."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ArgumentError(_invalid("seed"), found=shown(seed), expected="a whole number of at least 0")


def check_text(name: str | Phrase, value: object) -> None:
    """Raise an error unless an argument is a text that is not empty; a phrase is the name of one without a flag."""
    if not isinstance(value, str) or not value:
        what = Words("{} is not a text", Argument(name) if isinstance(name, str) else name)
        raise ArgumentError(what, found=shown(value), expected="a text that is not empty")


def check_texts(name: str, value: object, example: str) -> None:
    """Raise an error unless an argument is a sequence of texts."""
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    found: Iterable[object] = value if isinstance(value, Iterable) and is_list else ()
    wrong = [each for each in found if not isinstance(each, str)]
    if wrong or not is_list:
        raise ArgumentError(
            Words("{} is not a list of texts", Argument(name)),
            found=shown(wrong[0] if wrong else value),
            expected=f"such as [{example!r}]",
        )


def check_options(options: object) -> None:
    """Raise an error unless an argument maps the names of options to their values."""
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ArgumentError(
            "the options are not a mapping", found=shown(options), expected="a mapping such as {'header': 'true'}"
        )


def check_schema(schema: object) -> None:
    """Raise an error unless an argument is None, or a schema as a text or a type of Spark."""
    if schema is not None and not isinstance(schema, str) and not hasattr(type(schema), "fieldNames"):
        raise ArgumentError(
            "schema has an invalid value",
            found=shown(schema),
            expected="a StructType, or a text such as 'ts timestamp'",
        )


def check_labels(labels: object) -> dict[str, str]:
    """Return an argument that maps the labels of keys to other labels; None maps none."""
    found: Any = {} if labels is None else labels
    texts = [text for pair in found.items() for text in pair] if isinstance(found, Mapping) else [found]
    wrong = [each for each in texts if not isinstance(each, str)] if isinstance(found, Mapping) else texts
    if wrong:
        raise ArgumentError(
            "the labels are not a mapping of texts", found=shown(wrong[0]), expected="a mapping such as {'old': 'new'}"
        )
    return dict(found)


def check_flag(name: str, value: object) -> None:
    """Raise an error unless an argument is True or False."""
    if not isinstance(value, bool):
        raise ArgumentError(_invalid(name), found=shown(value), expected="True or False")


def check_builder(builder: object) -> None:
    """Raise an error unless an argument is the builder of a session."""
    if not isinstance(getattr(builder, "_options", None), dict):
        is_session = hasattr(type(builder), "sparkContext")
        hint = "the session runs already; call xskip.enable(spark)" if is_session else None
        raise ArgumentError(
            "xskip configures the builder of a session",
            found=shown(builder),
            expected="SparkSession.builder",
            hint=hint,
        )


def check_time(name: str, value: object) -> float:
    """Return the seconds of a time in Spark's form, which has a unit."""
    seconds = seconds_of(value) if isinstance(value, str) else None
    if seconds is None:
        what = Words("{} is not a time with a unit", Argument(name))
        raise ArgumentError(what, found=shown(value), expected="a time such as '30min', '12h' or '1d'")
    return seconds


def check_build(progress: object, on_error: object) -> None:
    """Raise an error unless the arguments of a build are valid."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ArgumentError(
            "progress has an invalid value", found=shown(progress), expected="True, False, None or a function"
        )
    check_choice("on_error", on_error, ("raise", "skip"))


def check_frame(df: object) -> None:
    """Raise an error unless an argument is a DataFrame."""
    if not hasattr(type(df), "sparkSession"):  # a Column of Spark has every attribute, its class has not
        hint = f"write spark.sql({df!r})" if isinstance(df, str) else None
        raise ArgumentError("the query is not a DataFrame", found=shown(df), expected="a DataFrame", hint=hint)
