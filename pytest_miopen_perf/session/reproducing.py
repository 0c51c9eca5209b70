"""Command lines that run a case again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pytest_miopen_perf.settings import TunePolicy

if TYPE_CHECKING:
    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.settings import Settings


def reproducer(nodeid: str, result: Result, settings: Settings) -> str:
    """One line that runs the case again, and behind it the MIOpenDriver line of the problem."""
    words = ["pytest", nodeid, f"--miopen-perf-solver={result.solver}", f"--miopen-perf-seed={result.seed}"]
    if settings.data != "miopen":
        words.append(f"--miopen-perf-data={settings.data}")
    if settings.tolerance != 1.0:
        words.append(f"--miopen-perf-tolerance={settings.tolerance:g}")
    if result.config:
        words.append(f"--miopen-perf-config={result.config}")
    words += _measuring_words(settings)
    return f"reproduce: {shlex.join(words)}  # {result.problem.to_driver()}"


def gate_command(nodeid: str, result: Result, settings: Settings) -> list[str]:
    """The test against the same baseline or arm; a named solver or config would be another case."""
    others = {
        f"--miopen-perf-compare={settings.compare}": settings.compare is not None,
        f"--miopen-perf-ab={','.join(settings.ab or ())}": settings.ab is not None,
        "--miopen-perf-log-overhead": settings.log_overhead,
    }
    words = ["pytest", nodeid, f"--miopen-perf-seed={result.seed}", *(word for word, is_on in others.items() if is_on)]
    words += _measuring_words(settings)
    return words if settings.tune is TunePolicy.OFF else [*words, f"--miopen-perf-tune={settings.tune.value}"]


def _measuring_words(settings: Settings) -> list[str]:
    """What is declared of kernels, device, work-items, caches and launches, where it is not the usual."""
    words = []
    if settings.kernels_dir is not None:
        words.append(f"--miopen-perf-kernels={settings.kernels_dir}")
    if settings.backend != "auto":
        words.append(f"--miopen-perf-backend={settings.backend}")
    if settings.work_item_order != "forward":
        words.append(f"--miopen-perf-order={settings.work_item_order}")
    if settings.guard:
        words.append("--miopen-perf-guard")
    if settings.cache_state != "warm":
        words.append(f"--miopen-perf-cache-state={settings.cache_state}")
    if settings.launch_mode != "isolated":
        words.append(f"--miopen-perf-launch={settings.launch_mode}")
    return words
