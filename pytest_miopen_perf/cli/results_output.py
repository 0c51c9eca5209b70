"""Measurements as a results file, and as rows of comma-separated values."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, TextIO

from pytest_miopen_perf.report.results_file import results_document
from pytest_miopen_perf.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.cli.measurements import Measurements
    from pytest_miopen_perf.results import Result

COLUMNS = (
    *("problem", "outcome", "message", "driver", "direction", "dtype", "solver", "solver_id", "algorithm"),
    *("config", "config_origin", "workspace_bytes", "executions", "warmups", "median_ms", "mean_ms", "min_ms"),
    *("max_ms", "relative_noise", "miopen_time_ms", "gflops_per_second", "check", "rms_error", "rms_tolerance"),
    *("backend", "device", "arch", "find_db_key", "perf_db_key", "nodeid"),
)
"""The columns of the CSV form, which only ever grow at the end."""


def document(found: Measurements) -> dict[str, Any]:
    """The results file of measurements: settings, environment and versions are of the session that made them."""
    return results_document(found.cases, Settings(level=1), is_complete=found.is_complete) | {
        "created": found.ended,
        "settings": found.settings,
        "environment": dict(found.environment),
        "versions": dict(found.versions),
    }


def write_csv(found: Measurements, out: TextIO) -> None:
    """A heading, and one row a case; what is not known is empty."""
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for case in found.cases:
        writer.writerow(_row(case))


def _row(case: Case) -> Mapping[str, object]:
    row: dict[str, object] = {
        "problem": case.problem,
        "outcome": case.outcome,
        "message": case.message,
        "nodeid": case.nodeid,
    }
    return row if case.result is None else row | _result_cells(case.result)


def _result_cells(result: Result) -> dict[str, object]:
    problem, sample, check = result.problem, result.sample, result.check
    cells: dict[str, object] = {
        "driver": problem.to_driver(),
        "direction": problem.direction.value,
        "dtype": problem.dtype.value,
        **{name: getattr(result, name) for name in ("solver", "solver_id", "algorithm", "config", "config_origin")},
        "workspace_bytes": result.workspace_bytes,
        "check": check.reason.value,
        "rms_error": check.rms_error,
        "rms_tolerance": check.rms_tolerance,
        "backend": result.device.backend,
        "device": result.device.name,
        "arch": result.device.arch,
        "find_db_key": problem.find_db_key(),
        "perf_db_key": problem.perf_db_key(),
    }
    if sample is not None:
        figures = sample.to_json()
        cells |= {f"{name}_ms": 1e3 * figures[f"{name}_seconds"] for name in ("median", "mean", "min", "max")}
        cells |= {
            "executions": figures["count"],
            "warmups": sample.warmups,
            "relative_noise": sample.noise,
            "miopen_time_ms": sample.miopen_time_ms,
            "gflops_per_second": result.gflops_per_second,
        }
    return {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in cells.items()}
