"""Calls of the command line in the process of a test."""

from __future__ import annotations

import json
from typing import Any

import pytest

from xskip.cli.main import main


def call(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(arguments) == code
    return capsys.readouterr().out


def call_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    return json.loads(call(capsys, *arguments, "--json", code=code))
