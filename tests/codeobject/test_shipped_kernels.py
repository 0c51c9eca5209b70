"""Every kernel that ships, with representative configs, on every AMD target: it compiles, fits, and spills nothing.

No GPU is needed, and none of this says that a kernel's numbers are right.
"""

import pytest

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES, planned_device
from pytest_miopen_perf.codeobject.cases import planned_cases
from pytest_miopen_perf.codeobject.table import faults, resources_table
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers

LINES = (
    "conv -n 16 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1",
    "convfp16 -n 16 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1",
    "convbfp16 -n 16 -c 64 -H 28 -W 28 -k 128 -y 1 -x 1",
    "convint8 -n 2 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -F 1",
    "conv -n 2 -c 16 --spatial_dim 3 --in_d 8 -H 14 -W 14 -k 32 --fil_d 3 -y 3 -x 3",
    "conv -n 8 -c 96 -H 28 -W 28 -k 96 -y 3 -x 3 -p 1 -q 1 -g 96",
)


def problems():
    for line in LINES:
        yield from ConvProblem.from_driver(line)


def representative_configs(solver, problem, info):
    """The default, and the first, the middle and the last of the space: what a search meets at its ends."""
    space = list(solver.configs(problem, info))
    return list(dict.fromkeys([solver.default_config(problem, info), space[0], space[len(space) // 2], space[-1]]))


def cases_of(solver, target):
    """Every problem that the solver serves with its default config, the first of them with more."""
    info = planned_device(target)
    served = [problem for problem in problems() if solver.refusal(problem, info) is None]
    for problem in served:
        configs = representative_configs(solver, problem, info) if problem is served[0] else [None]
        for config in configs:
            yield from planned_cases(solver, problem, [target], config)


@pytest.fixture(scope="module")
def tables(builder):
    """Everything that these tests look at, compiled several at once: solver and target to rows."""
    wanted = {
        (solver.name, target): list(cases_of(solver, target))
        for solver in builtin_solvers()
        for target in ARCHITECTURES
        if not builder.refusal(target)
    }
    rows = iter(resources_table((case for cases in wanted.values() for case in cases), builder))
    return {key: [next(rows) for _ in cases] for key, cases in wanted.items()}


@pytest.mark.parametrize("target", ARCHITECTURES)
@pytest.mark.parametrize("solver", [solver.name for solver in builtin_solvers()])
def test_it_compiles_and_is_clean(builder, tables, solver, target):
    if reason := builder.refusal(target):
        pytest.skip(reason)
    rows = tables[solver, target]
    if not rows:
        pytest.skip(f"{solver} serves none of these problems on {target}")
    found = {f"{row.case.name} [{row.case.config}] {row.case.problem}": faults(row) for row in rows}
    assert {case: sentences for case, sentences in found.items() if sentences} == {}


def test_every_solver_is_looked_at_somewhere(tables):
    assert {solver for (solver, _), rows in tables.items() if rows} == {solver.name for solver in builtin_solvers()}
