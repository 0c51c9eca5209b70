"""The launches that the real hiprtc compiles: of every solver that ships, the same in the child and in the test."""

from dataclasses import replace

from pytest_miopen_perf.codeobject.architectures import planned_device
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers

SHAPES = (
    "convfp16 -n 2 -c 16 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -F 7 -I NHWC -O NHWC -f NHWC",
    "conv -n 2 -c 16 -H 14 -W 14 -k 16 -g 16 -y 3 -x 3 -p 1 -q 1 -F 7",
)
TARGETS = {"gfx90a": "gfx90a", "gfx1030": "gfx1100"}
"""Waves of 64 and of 32 that this old hiprtc knows, each with the architecture of our table whose launches it is given.

RDNA2 is not in the table; nothing that launches are planned from differs between it and RDNA3 but the name, by which
solvers know that it has no matrix cores.
"""


def launches(target):
    """One launch for every kernel, macros and options included, that default configs need."""
    info = replace(planned_device(TARGETS[target]), arch=target)
    planned = {}
    for problem in (problem for shape in SHAPES for problem in ConvProblem.from_driver(shape)):
        for solver in builtin_solvers():
            if solver.refusal(problem, info) is None:
                solution = solver.solution(problem, info, solver.default_config(problem, info))
                planned |= {launch.kernel: launch for launch in solution.launches}
    return list(planned.values())
