"""The naive forward kernel on the CPU beside the plainest kernel that computes the same problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.rows import Row
from pytest_miopen_perf.checking.reference import make_operands
from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.measuring.execution import ConvBuffers, Prepared, prepare
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers.naive import SOLVERS

if TYPE_CHECKING:
    from pytest_miopen_perf.solvers import Solution

_LINE = "MIOpenDriver conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"


def run(rounds: int = 9) -> list[Row]:
    """Executions alternate, so that a busy machine slows both alike."""
    (problem,) = ConvProblem.from_driver(_LINE)
    device = load_backend("cpu").open_device(DeviceOptions())
    general = SOLVERS[0].solution(problem, device.info, SOLVERS[0].default_config(problem, device.info))
    rows = []
    with ConvBuffers(device, problem, make_operands(problem, seed=1), 0) as buffers:
        plain = prepare(device, _plain_solution(problem, general), buffers)
        for accumulator, limit in (("float", 1.3), ("double", 2.6)):
            naive = prepare(device, _with_accumulator(general, accumulator), buffers)
            rows.append(
                Row(f"naive forward, {accumulator} sums / plain kernel", _ratio(naive, plain, rounds), limit, "x")
            )
    device.close()
    return rows


def _ratio(ours: Prepared, theirs: Prepared, rounds: int) -> float:
    for warm in (ours, theirs):
        warm.execute()
    return median(sum(ours.execute()) / sum(theirs.execute()) for _ in range(rounds))


def _with_accumulator(solution: Solution, accumulator: str) -> Solution:
    (launch,) = solution.launches
    defines = tuple((name, accumulator if name == "ACCUMULATOR" else value) for name, value in launch.kernel.defines)
    return replace(solution, launches=(replace(launch, kernel=replace(launch.kernel, defines=defines)),))


def _plain_solution(problem: ConvProblem, like: Solution) -> Solution:
    sizes = {
        "N": problem.n,
        "C": problem.c,
        "K": problem.k,
        "IN_H": problem.spatial[0],
        "IN_W": problem.spatial[1],
        "OUT_H": problem.output[0],
        "OUT_W": problem.output[1],
        "FIL_H": problem.filter[0],
        "FIL_W": problem.filter[1],
        "PAD": problem.pad[0],
    }
    kernel = KernelSource(
        file=str(Path(__file__).with_name("plain_conv.hip")),
        entry="plain_conv",
        defines=tuple((name, str(size)) for name, size in sizes.items()),
    )
    elements = problem.n * problem.k * problem.output[0] * problem.output[1]
    launch = Launch(
        kernel=kernel,
        grid=(-(-elements // 256), 1, 1),
        block=(256, 1, 1),
        args=(Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)),
    )
    return replace(like, launches=(launch,))
