"""The results file: every case of a session as JSON, versioned, with the published schema `results.schema.json`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf import __version__
from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.environment import performance_variables, versions
from pytest_miopen_perf.moments import now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.settings import Settings

FORMAT = "pytest-miopen-perf results"
VERSION = 1


def results_document(cases: Sequence[Case], settings: Settings, *, is_complete: bool) -> dict[str, Any]:
    """The whole file as builtins.

    Args:
        cases: In the order in which they ended.
        settings: Of the session.
        is_complete: False when the session was interrupted, so that a reader does not take absence for passing.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"pytest-miopen-perf {__version__}",
        "created": now(),
        "complete": is_complete,
        "settings": _settings(settings),
        "versions": versions(),
        "environment": performance_variables(),
        "cases": [_case(case) for case in cases if case.problem],
    }


def write_results(path: Path, document: dict[str, Any]) -> None:
    """Write all or nothing: a reader never sees half a file, and a failed write leaves the old one.

    Raises:
        OSError: the file cannot be written.
    """
    write_atomically(path, _text(document))


def _text(document: dict[str, Any]) -> str:
    """JSON with one case a line: a case has hundreds of times, and a line for each of them is no help to a reader."""
    head = json.dumps(document | {"cases": []}, indent=1, allow_nan=False)
    cases = ",\n".join(f"  {json.dumps(case, allow_nan=False)}" for case in document["cases"])
    before, empty, after = head.rpartition('"cases": []')
    return f'{before}"cases": [\n{cases}\n ]{after}\n' if cases else f"{before}{empty}{after}\n"


def _settings(settings: Settings) -> dict[str, Any]:
    """What changes numbers; paths of this machine are left out."""
    kept = asdict(settings) | {"tune": settings.tune.value, "solvers": list(settings.solvers)}
    for name in (*_LOCAL, *_OF_THE_DRIVER, *_OF_THE_GATE, *_OF_THE_STATIC_GATE):
        del kept[name]
    return kept


_LOCAL = ("problems", "db_dir", "cache_dir", "log_path", "json_path", "level_source", "device")
_OF_THE_DRIVER = ("driver_path", "driver_timeout_seconds", "run_by")
_OF_THE_GATE = (
    "save",
    "compare",
    "ab",
    "aa",
    "canary",
    "log_overhead",
    "budget_seconds",
    "processes",
    "baselines_dir",
    "margin",
    "margins",
    "gate",
    "strict",
    "verdicts_path",
    "kernels_dir",
    "part_path",
)
_OF_THE_STATIC_GATE = (
    "static_targets",
    "static_configs",
    "static_save",
    "static_compare",
    "static_limits",
    "static_json_path",
)


def _case(case: Case) -> dict[str, Any]:
    data = case.to_json()
    del data["log"]
    data.pop("verdict", None)  # verdicts have a file of their own
    return data
