"""What messages tell the user to install is what the extras of the package hold, name and version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest_miopen_perf

HINT = re.compile(r"'([A-Za-z][\w-]*>=[\d.]+)'")
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_hints_name_what_the_extras_hold():
    extras = PROJECT.read_text().partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    sources = Path(pytest_miopen_perf.__file__).parent.rglob("*.py")
    hints = {hint for path in sources for line in _hinting(path) for hint in HINT.findall(line)}
    assert hints, "no hint was found"
    assert [hint for hint in sorted(hints) if not re.search(rf'"{re.escape(hint)}[";]', extras)] == []


def _hinting(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if "pip install '" in line]
