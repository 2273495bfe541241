"""The command line, a thin layer over the Python API.

The modules that a command needs are imported when it runs, so that ``--help`` and ``--version`` are fast.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
from collections.abc import Sequence
from itertools import pairwise

from xskip.cli import interrupts
from xskip.cli.parser import make_parser
from xskip.errors import XskipError, message_of
from xskip.hints import in_shell_words

__all__ = ["main", "run_process"]

_FAILED = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, print an error as one line on stderr or as JSON on stdout, and return the exit code.

    The code is 0 if the command succeeded, 2 if it failed, 130 if it was interrupted. It is 1 if ``--check`` or
    ``validate`` found that an index is out of date or wrong, if a demonstration found different results, or if a check
    or validation of a lake found something.
    """
    words = sys.argv[1:] if argv is None else argv
    for name in ("SQLQueryContextLogger", "py4j"):  # PySpark logs errors a second time
        logging.getLogger(name).disabled = True
    with interrupts.catching():
        return _run(words)


def run_process() -> int:
    """Run the command of this process, which then ends."""
    from xskip.cli.spark_fallback import declare_command_process

    declare_command_process()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts threads at its import, and no command uses them
    gc.set_threshold(100_000)  # imports make many objects and no garbage
    code = main()
    gc.freeze()  # the interpreter looks through all objects twice when it ends, and what it would free ends with it
    return code


def _run(words: Sequence[str]) -> int:
    try:
        arguments = make_parser(words).parse_args(words)
        return _ended(int(arguments.run(arguments)))
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:  # the reader of the output, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except Exception as error:  # noqa: BLE001 - a traceback and exit code 1 would mean something else
        if interrupts.is_requested():
            interrupts.end()
        _show_error(_told(error, words), as_json=_wants_json(words))
        return _FAILED


def _ended(code: int) -> int:
    """Return the exit code of a command, which an interruption that the command has not noticed replaces."""
    return _interrupted() if interrupts.is_requested() else code


def _interrupted() -> int:
    if interrupts.is_requested():
        sys.stdout.flush()
        interrupts.end()
    print(interrupts.MESSAGE, end="", file=sys.stderr)
    exec("")  # or python -m ends by the signal, if it interrupted an exec such as that of a dataclass
    return interrupts.EXIT_CODE


def _told(error: Exception, words: Sequence[str]) -> XskipError:
    """Return an error that is not xskip's as one of xskip; its traceback goes to stderr with ``--verbose``."""
    if isinstance(error, XskipError):
        return error
    from xskip.spark.bridge.java_errors import reason, spark_errors

    if "--verbose" in words:
        import traceback

        traceback.print_exception(error)
    is_of_spark = isinstance(error, spark_errors())
    what = "Spark refuses the command" if is_of_spark else "the command failed because of an unknown error"
    hint = "see the traceback" if "--verbose" in words else "use --verbose to see the traceback"
    return XskipError(what, found=reason(error), hint=hint)


def _wants_json(words: Sequence[str]) -> bool:
    """Return whether the words of a command ask for JSON, also if they are not valid."""
    # --format is the form of the output of list, and the format of the data files of all other commands
    names = ("--output", "--format") if words[:1] == ["list"] else ("--output",)
    flags = {"--json", *(f"{name}=json" for name in names)}
    return not flags.isdisjoint(words) or any((name, "json") in pairwise(words) for name in names)


def _show_error(error: XskipError, *, as_json: bool) -> None:
    if as_json:
        parts = {name: getattr(error, name) for name in ("what", "where", "found", "expected", "hint")}
        texts = {name: in_shell_words(text) for name, text in parts.items() if text}
        print(json.dumps({"error": {"type": type(error).__name__, **texts}}, indent=1))
    else:
        print(f"xskip: {message_of(error).shell}", file=sys.stderr)
