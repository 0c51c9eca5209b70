"""The launches that the real hiprtc compiles: of every solver that ships, the same in the child and in the test."""

from pytest_miopen_perf.codeobject.architectures import planned_device
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers

SHAPES = (
    "convfp16 -n 2 -c 16 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -F 7 -I NHWC -O NHWC -f NHWC",
    "conv -n 2 -c 16 -H 14 -W 14 -k 16 -g 16 -y 3 -x 3 -p 1 -q 1 -F 7",
)


def launches(target):
    """One launch for every kernel, macros and options included, that default configs need."""
    info = planned_device(target)
    planned = {}
    for problem in (problem for shape in SHAPES for problem in ConvProblem.from_driver(shape)):
        for solver in builtin_solvers():
            if solver.refusal(problem, info) is None:
                solution = solver.solution(problem, info, solver.default_config(problem, info))
                planned |= {launch.kernel: launch for launch in solution.launches}
    return list(planned.values())
