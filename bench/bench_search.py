"""A search on a layer of ResNet-50 on the CPU: nothing compiled before, and then a session that knows its outcome."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.rows import Row
from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.perflog.sinks import ListSink
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.running.choosing import Chooser
from pytest_miopen_perf.running.runner import Runner
from pytest_miopen_perf.running.tuned import tried_configs, tuned_configs
from pytest_miopen_perf.settings import Settings, TunePolicy
from pytest_miopen_perf.solvers import builtin_solvers

if TYPE_CHECKING:
    from pytest_miopen_perf.results import Result

_CONFIGS = 200
_CASES = (
    ("forward", "-n 1 -c 256 -H 14 -W 14 -k 256 -y 3 -x 3 -p 1 -q 1 -F 1", "HipConvImplicitGemmFwd"),
    ("backward weights", "-n 1 -c 128 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -F 4", "HipConvImplicitGemmWrw"),
)
"""A layer of ResNet-50 in a direction; backward weights, whose sums may be split, has more configs than are tried."""


def run() -> list[Row]:
    """Two sessions of each case, one after the other, in folders of their own."""
    return [row for case in _CASES for row in _rows(*case)]


def _rows(name: str, line: str, solver: str) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        cold_seconds, cold_processor_seconds, cold = _session(Path(folder), line, solver)
        warm_seconds, _, warm = _session(Path(folder), line, solver)
    (tuning,) = cold.tuning
    assert not warm.tuning, "the second session found the config"
    assert warm.config == tuning.best_config
    tried = f"{name}, search of {len(tuning.trials)} of {tuning.valid_configs} configs, nothing compiled"
    return [
        Row(f"{tried}: wall", cold_seconds, 60.0, "s"),
        Row(f"{tried}: processors over cores", cold_processor_seconds / _cores(), 60.0, "s"),
        Row(f"{name}, a second session, searched and compiled before: wall", warm_seconds, 2.0, "s"),
        Row(f"{name}, 1 at most: time of tuned over default", 1 / (tuning.speedup or 1.0), 1.0, "x"),
    ]


def _session(folder: Path, line: str, solver: str) -> tuple[float, float, Result]:
    """Wall and processor seconds of one case, opening the device included, and its result."""
    (problem,) = ConvProblem.from_driver(f"MIOpenDriver conv {line}")
    settings = Settings(
        level=3,
        tune=TunePolicy.MISSING,
        tune_max_configs=_CONFIGS,
        tune_budget_seconds=600.0,
        db_dir=folder / "db",
        iterations=10,
    )
    solvers = [one for one in builtin_solvers() if one.name == solver]
    start, processor_start = time.perf_counter(), _processor_seconds()
    device = load_backend("cpu").open_device(DeviceOptions(cache_dir=folder / "cache"))
    try:
        tuned, tried = tuned_configs(settings, device.info, solvers), tried_configs(settings, device.info)
        runner = Runner(device, Chooser(tuned=tuned, tried=tried))
        result = runner.run(
            problem, solvers=solvers, settings=settings, logger=PerformanceLogger(settings.level, ListSink())
        )
    finally:
        device.close()
    return time.perf_counter() - start, _processor_seconds() - processor_start, result


def _processor_seconds() -> float:
    """Of this process and its children: compilers and isolated launches."""
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _cores() -> int:
    return len(os.sched_getaffinity(0))
