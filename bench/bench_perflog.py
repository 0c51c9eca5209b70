"""What the performance logger costs: at level 0 beside a bare method call, at level 4 a large record."""

from __future__ import annotations

import time
import timeit
from statistics import median

from bench.rows import Row
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.perflog.sinks import ListSink
from pytest_miopen_perf.records import KernelPhase

CONFIGS = 20
KERNELS = tuple(f"conv_implicit_gemm_{number}" for number in range(10))
SAMPLES = 10


class Bare:
    """The cheapest thing that a method can do."""

    def add_kernel(self, name: str, time_ms: float, is_transformation: bool | None = None) -> None:
        """Nothing."""

    def flush(self) -> None:
        """Nothing."""


def run(rounds: int = 15) -> list[Row]:
    """Measure everything; a second or two."""
    with_arguments = call_ratio('it.add_kernel("kernel", 0.5, False)', rounds)
    without = call_ratio("it.flush()", rounds)
    name = f"level 4: record of {CONFIGS} x {len(KERNELS)} x {SAMPLES} built, validated, written"
    return [
        Row("level 0: add_kernel over a bare method call", with_arguments, 3.0, "x"),
        Row("level 0: flush over a bare method call", without, 3.0, "x"),
        Row(name, record_ms(rounds), 5.0, "ms"),
    ]


def call_ratio(call: str, rounds: int, calls: int = 20_000) -> float:
    """Median over the rounds, measured in turn, of the time of a silent logger's call over that of a bare method."""
    ours = timeit.Timer(call, globals={"it": PerformanceLogger(0, ListSink())})
    theirs = timeit.Timer(call, globals={"it": Bare()})
    return median(ours.timeit(calls) / theirs.timeit(calls) for _ in range(rounds))


def record_ms(rounds: int) -> float:
    """Median processor time of one large record through the logger, in ms; other processes do not count."""
    times_ms = [0.5 + 0.001234 * number for number in range(SAMPLES)]
    logger = PerformanceLogger(4, ListSink())
    log_record(logger, times_ms)
    timer = timeit.Timer(lambda: log_record(logger, times_ms), timer=time.process_time)
    return median(timer.repeat(5 * rounds, number=1)) * 1e3


def log_record(logger: PerformanceLogger, times_ms: list[float]) -> None:
    """A tuning record as a search writes it."""
    with logger.scoped_kernel_phase(KernelPhase.SOLVER_TUNING), logger.solution("ConvImplicitGemm", 10001, 1 << 20):
        for config in range(CONFIGS):
            logger.add_performance_config("ConvImplicitGemm", f"{config},64,16")
            for time_ms in times_ms:
                for kernel in KERNELS:
                    logger.add_kernel(kernel, time_ms, False)
            logger.add_invoker_times(times_ms)
