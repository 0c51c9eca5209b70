"""A search on one layer of ResNet-50 on the CPU: nothing compiled before, and then a session that knows its outcome."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.rows import Row
from pytest_miopen_perf.choosing import Chooser
from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.runner import Runner
from pytest_miopen_perf.settings import Settings, TunePolicy
from pytest_miopen_perf.sinks import ListSink
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.tuned import tuned_configs

if TYPE_CHECKING:
    from pytest_miopen_perf.results import Result

_LINE = "MIOpenDriver conv -n 1 -c 256 -H 14 -W 14 -k 256 -y 3 -x 3 -p 1 -q 1 -F 1"
_SOLVER = "HipConvImplicitGemmFwd"
_CONFIGS = 200


def run() -> list[Row]:
    """Two sessions, one after the other, in folders of their own."""
    with tempfile.TemporaryDirectory() as folder:
        cold_seconds, cold_processor_seconds, cold = _session(Path(folder))
        warm_seconds, _, warm = _session(Path(folder))
    (tuning,) = cold.tuning
    assert not warm.tuning, "the second session found the config"
    assert warm.config == tuning.best_config
    tried = f"search of {len(tuning.trials)} of at most {_CONFIGS} configs, nothing compiled"
    return [
        Row(f"{tried}: wall", cold_seconds, 60.0, "s"),
        Row(f"{tried}: processors over cores", cold_processor_seconds / _cores(), 60.0, "s"),
        Row("the same case in a second session, searched and compiled before: wall", warm_seconds, 2.0, "s"),
        Row("default over tuned, 1 at least: time of tuned over default", 1 / (tuning.speedup or 1.0), 1.0, "x"),
    ]


def _session(folder: Path) -> tuple[float, float, Result]:
    """Wall and processor seconds of one case, opening the device included, and its result."""
    (problem,) = ConvProblem.from_driver(_LINE)
    settings = Settings(
        level=3,
        tune=TunePolicy.MISSING,
        tune_max_configs=_CONFIGS,
        tune_budget_seconds=600.0,
        db_dir=folder / "db",
        iterations=10,
    )
    solvers = [solver for solver in builtin_solvers() if solver.name == _SOLVER]
    start, processor_start = time.perf_counter(), _processor_seconds()
    device = load_backend("cpu").open_device(DeviceOptions(cache_dir=folder / "cache"))
    try:
        runner = Runner(device, Chooser(tuned=tuned_configs(settings, device.info, solvers)))
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
