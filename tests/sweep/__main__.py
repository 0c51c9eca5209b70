"""Run the numeric sweep, on the CPU unless another back-end is named: a line a problem, a table of solvers.

The exit code is 1 if a pair is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.errors import PerfError
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.selection import select

from .cutting import MOST_FLOPS, cut, work_of
from .kinds import stratum_of
from .pairs import SweptProblem, applicable, sources
from .sample import swept_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Solver

    from .pairs import Outcome


def main() -> int:
    """Parse the arguments, sweep, and tell."""
    arguments = _parsed()
    try:
        solvers = select(arguments.solver, builtin_solvers())
        problems = swept_problems(arguments.files, arguments.count, arguments.seed)
        backend = load_backend(arguments.backend)
        if reason := backend.probe(DeviceOptions()):
            sys.exit(f"python -m tests.sweep: {arguments.backend}: {reason}")
        with contextlib.closing(backend.open_device(DeviceOptions())) as device:
            return _sweep(device, solvers, problems, arguments.most_gflop * 1e9)
    except PerfError as error:
        sys.exit(f"python -m tests.sweep: {error}")


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="workload files beside the bundled ones")
    parser.add_argument("--backend", choices=["cpu", "cuda", "hip"], default="cpu", help="where (%(default)s)")
    parser.add_argument("--count", type=int, default=300, help="problems beside smoke and edge_shapes (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (%(default)s)")
    parser.add_argument("--solver", action="append", default=[], metavar="GLOB", help="only these; may be repeated")
    parser.add_argument(
        "--most-gflop",
        type=float,
        default=MOST_FLOPS / 1e9,
        help="problems that take more are cut in batch and image (%(default)s)",
    )
    return parser.parse_args()


def _sweep(device: Device, solvers: Sequence[Solver], problems: Sequence[ConvProblem], most_flops: float) -> int:
    start = time.perf_counter()
    strata = {stratum_of(problem) for problem in problems}
    print(f"{len(problems)} problems of {len(strata)} strata, {len(solvers)} solvers, on {device.info.name}")
    outcomes: list[Outcome] = []
    cuts = swept = 0
    try:
        for swept, asked in enumerate(problems, start=1):
            problem = cut(asked, most_flops)
            several = list(_outcomes(device, solvers, problem))
            outcomes += several
            cuts += problem != asked
            print(f"{swept:4} {_line(asked, problem, several, most_flops)}", flush=True)
    except KeyboardInterrupt:
        print(f"interrupted at problem {swept} of {len(problems)}")
        _print_summary(outcomes, cuts, time.perf_counter() - start)
        return 2
    _print_summary(outcomes, cuts, time.perf_counter() - start)
    return 1 if not outcomes or any(outcome.fault for outcome in outcomes) else 0


def _print_summary(outcomes: Sequence[Outcome], cuts: int, seconds: float) -> None:
    print(f"\n{cuts} problems were cut in batch or image, none was left out")
    _print_solvers(outcomes)
    wrong = [outcome for outcome in outcomes if outcome.fault]
    for outcome in wrong:
        print(f"WRONG {outcome.solver} {outcome.problem}: {outcome.fault}\n      {outcome.problem.to_driver()}")
    print(f"{len(outcomes)} pairs, {len(wrong)} wrong, in {seconds:.0f} s")


def _outcomes(device: Device, solvers: Sequence[Solver], problem: ConvProblem) -> Iterator[Outcome]:
    """Of every solver that applies; kernels are compiled side by side first."""
    chosen = list(applicable(problem, solvers, device.info))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        wait([pool.submit(device.compile, source) for source in sources(problem, chosen, device.info)])
    swept = SweptProblem(problem)
    return (swept.outcome(solver, device) for solver in chosen)


def _line(asked: ConvProblem, problem: ConvProblem, outcomes: Sequence[Outcome], most_flops: float) -> str:
    words = [str(asked)]
    if problem != asked:
        words.append(f"cut to {problem.n} images of {'x'.join(map(str, problem.spatial))}")
    if work_of(problem) > most_flops:
        words.append(f"{work_of(problem) / 1e9:.2g} GFLOP with nothing left to cut")
    wrong = [outcome.solver for outcome in outcomes if outcome.fault]
    words.append(f"WRONG: {', '.join(wrong)}" if wrong else f"{len(outcomes)} solvers right")
    return ", ".join(words)


def _print_solvers(outcomes: Sequence[Outcome]) -> None:
    by_solver: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_solver[outcome.solver].append(outcome)
    print(f"{'solver':34} {'pairs':>6} {'strata':>6} {'wrong':>6} {'s':>7}")
    for name, several in sorted(by_solver.items()):
        strata = len({stratum_of(outcome.problem) for outcome in several})
        wrong = sum(bool(outcome.fault) for outcome in several)
        print(f"{name:34} {len(several):6} {strata:6} {wrong:6} {sum(outcome.seconds for outcome in several):7.1f}")


if __name__ == "__main__":
    sys.exit(main())
