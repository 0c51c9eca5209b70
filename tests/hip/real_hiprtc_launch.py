"""The launches that the real hiprtc compiles: one a direction, the same in the child and in the test."""

from pytest_miopen_perf.codeobject.architectures import planned_device
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import naive

FORWARD, BACKWARD, WEIGHTS = 1, 2, 4


def planned_launch(direction):
    bits = {"F": FORWARD, "B": BACKWARD, "W": WEIGHTS}[direction]
    (problem,) = ConvProblem.from_driver(f"convfp16 -n 2 -c 4 -H 5 -W 6 -k 8 -y 3 -x 3 -F {bits}")
    info = planned_device("gfx90a")  # the naive solvers plan alike for every GPU
    solver = next(solver for solver in naive.SOLVERS if solver.refusal(problem, info) is None)
    (launch,) = solver.solution(problem, info, solver.default_config(problem, info)).launches
    return launch
