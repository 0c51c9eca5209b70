"""What the performance logger costs: at level 0 beside a bare method call, at level 4 a large record.

Run it as a script. Ratios come from rounds measured side by side, so that a busy machine slows both parts alike.
"""

from __future__ import annotations

import argparse
import timeit
from statistics import median
from typing import NamedTuple

from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.records import KernelPhase
from pytest_miopen_perf.sinks import ListSink

CONFIGS = 20
KERNELS = tuple(f"conv_implicit_gemm_{number}" for number in range(10))
SAMPLES = 10


class Row(NamedTuple):
    """One measured figure and what it may be at most."""

    name: str
    measured: float
    limit: float
    unit: str


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
    name = f"level 4: record of {CONFIGS} x {len(KERNELS)} x {SAMPLES}, built, validated, written"
    return [
        Row("level 0: add_kernel / bare method call", with_arguments, 3.0, "x"),
        Row("level 0: flush / bare method call", without, 3.0, "x"),
        Row(name, record_ms(rounds), 5.0, "ms"),
    ]


def call_ratio(call: str, rounds: int, calls: int = 20_000) -> float:
    """Median over the rounds of the time of `calls` calls of a silent logger over those of a bare method."""
    ours = timeit.Timer(call, globals={"it": PerformanceLogger(0, ListSink())})
    theirs = timeit.Timer(call, globals={"it": Bare()})
    return median(ours.timeit(calls) / theirs.timeit(calls) for _ in range(rounds))


def record_ms(rounds: int) -> float:
    """Median milliseconds of one large record through the logger."""
    times = [0.5 + 0.001234 * i for i in range(SAMPLES)]
    logger = PerformanceLogger(4, ListSink())
    log_record(logger, times)
    return median(timeit.timeit(lambda: log_record(logger, times), number=1) for _ in range(3 * rounds)) * 1e3


def log_record(logger: PerformanceLogger, times_ms: list[float]) -> None:
    """A tuning record as a search writes it."""
    with logger.scoped_kernel_phase(KernelPhase.SOLVER_TUNING), logger.solution("ConvImplicitGemm", 10001, 1 << 20):
        for config in range(CONFIGS):
            logger.add_performance_config("ConvImplicitGemm", f"{config},64,16")
            for time_ms in times_ms:
                for kernel in KERNELS:
                    logger.add_kernel(kernel, time_ms, False)
            logger.add_invoker_times(times_ms)


def main() -> None:
    """Print the table; exit status 1 when a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each measurement (default: 15)")
    rows = run(parser.parse_args().rounds)
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(f"{row.name:{width}}  {row.measured:8.3f} {row.unit:2}  at most {row.limit:g}")
    raise SystemExit(any(row.measured > row.limit for row in rows))


if __name__ == "__main__":
    main()
