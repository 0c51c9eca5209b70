"""L1 and L2: every kernel that ships, on every AMD target, compiles, fits, spills nothing and reads what launches pass.

No GPU is needed, and none of this says that a kernel's numbers are right. A target and a solver are a test of their
own, so that workers share the compiling.
"""

import pytest
from static_rows import faults

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES, planned_device
from pytest_miopen_perf.codeobject.cases import planned_cases
from pytest_miopen_perf.codeobject.table import resources_table
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers

LINES = (
    "conv -n 16 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1",
    "convfp16 -n 16 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1",
    "conv -n 16 -c 64 -H 28 -W 28 -k 128 -y 1 -x 1",
    "convfp16 -n 16 -c 64 -H 28 -W 28 -k 128 -y 1 -x 1",
    "conv -n 16 -c 32 -H 28 -W 28 -k 16 -y 1 -x 1 -F 1",
    "convbfp16 -n 16 -c 32 -H 28 -W 28 -k 16 -y 1 -x 1 -F 1",
    "conv -n 8 -c 96 -H 28 -W 28 -k 96 -y 3 -x 3 -p 1 -q 1 -g 96",
    "convfp16 -n 8 -c 96 -H 28 -W 28 -k 96 -y 3 -x 3 -p 1 -q 1 -g 96",
    "convbfp16 -n 16 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -I NHWC -f NHWC -O NHWC",
    "convint8 -n 2 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -F 1",
    "conv -n 2 -c 16 --spatial_dim 3 --in_d 8 -H 14 -W 14 -k 32 --fil_d 3 -y 3 -x 3",
)
"""3x3, 1x1 and depthwise in fp32 and fp16, all directions; and one of each other type, layout and rank.

Of 1x1 also so few channels that a compiler may unroll them all.
"""

WHOLE_SPACE = ("gfx942", "gfx1201")
"""A target of waves of 64 and one of 32 on which the ends of the config spaces are looked at too."""


def problems():
    for line in LINES:
        yield from ConvProblem.from_driver(line)


def space_ends(solver, problem, info):
    """The first, the middle and the last of the space: what a search meets beside the default."""
    space = list(solver.configs(problem, info))
    return dict.fromkeys([space[0], space[len(space) // 2], space[-1]])


def cases_of(solver, target):
    """Every problem that the solver serves with its default config, and the ends of the first one's space."""
    info = planned_device(target)
    served = [
        problem
        for problem in problems()
        if problem.direction in solver.directions and solver.refusal(problem, info) is None
    ]
    for problem in served:
        yield from planned_cases(solver, problem, [target])
    if served and target in WHOLE_SPACE:
        for config in space_ends(solver, served[0], info):
            yield from planned_cases(solver, served[0], [target], config)


@pytest.mark.parametrize("layer", ["L1: compiles, fits, spills nothing; L2: reads what launches pass"])
@pytest.mark.parametrize("target", ARCHITECTURES)
@pytest.mark.parametrize("solver", builtin_solvers(), ids=lambda solver: solver.name)
def test_it_compiles_and_is_clean(builder, solver, target, layer):
    if reason := builder.refusal(target):
        pytest.skip(reason)
    cases = {(case.kernel, case.work_items, case.shared_bytes): case for case in cases_of(solver, target)}
    if not cases:
        pytest.skip(f"{solver.name} serves none of these problems on {target}")
    rows = resources_table(cases.values(), builder)
    found = {f"{row.case.name} [{row.case.config}] {row.case.problem}": faults(row) for row in rows}
    assert {case: sentences for case, sentences in found.items() if sentences} == {}


@pytest.mark.parametrize("solver", builtin_solvers(), ids=lambda solver: solver.name)
def test_every_solver_is_looked_at_somewhere(solver):
    assert any(next(cases_of(solver, target), None) for target in ARCHITECTURES)
