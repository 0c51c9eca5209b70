"""A solver's set of accepted problems is pinned: what it answers is what `accepted_problems.txt` says it answers."""

from collections import defaultdict

import accepted_problems
import pytest
from accepted_problems import COMMAND, CPU, GOLDEN, GPU, TABLE, answer_lines, table_problems

from pytest_miopen_perf.problem import DType
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.winograd import SOLVERS as WINOGRAD

SOLVERS = builtin_solvers()
by_name = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


@pytest.fixture(scope="module")
def golden():
    lines = defaultdict(list)
    for line in GOLDEN.read_text().splitlines():
        lines[line.partition(" | ")[0]].append(line)
    return lines


def difference(before, after):
    """What a reader of a failure wants to see: lines that are gone, and lines that are new."""
    return [f"- {line}" for line in before if line not in after] + [f"+ {line}" for line in after if line not in before]


@by_name
def test_a_solver_answers_as_it_did(golden, solver):
    changed = difference(golden[solver.name], list(answer_lines([solver])))
    if changed:
        pytest.fail(
            "\n".join([f"{solver.name} answers otherwise; if that is meant: {COMMAND}", *changed]), pytrace=False
        )


def test_no_solver_has_vanished(golden):
    assert set(golden) == {solver.name for solver in SOLVERS}


@by_name
def test_other_directions_are_refused_in_words(solver):
    problems = (problem.canonical() for kind in TABLE for problem in table_problems(kind))
    others = [problem for problem in problems if problem.direction not in solver.directions]
    assert others
    for info in (CPU, GPU):
        assert all(solver.refusal(problem, info) for problem in others)


@by_name
def test_every_solver_accepts_some_and_refuses_some(golden, solver):
    answers = {line.split(" | ")[2] for line in golden[solver.name]}
    assert "yes" in answers
    assert len(answers) > 1


def test_a_change_names_the_solver_the_kind_and_the_types(golden, monkeypatch):
    """A Winograd solver that would suddenly take int8."""
    solver = WINOGRAD[0]
    before = accepted_problems.answer

    def generous(asked, problem):
        return "yes" if problem.dtype is DType.INT8 else before(asked, problem)

    monkeypatch.setattr(accepted_problems, "answer", generous)
    changed = difference(golden[solver.name], list(answer_lines([solver])))
    assert f"- {solver.name} | table, 3x3 | yes | FP32 FP16 BF16: NCHW NHWC" in changed
    assert f"+ {solver.name} | table, 3x3 | yes | FP32 FP16 BF16: NCHW NHWC, INT8: all" in changed
