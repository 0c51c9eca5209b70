"""What solvers serve is what they accept, and what the README says of them."""

import re
from pathlib import Path

import pytest
from accepted_problems import GPU, TABLE, table_problems
from sweep.kinds import layout_of

from pytest_miopen_perf.problem import DType
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.served import LAYOUTS, Served, served

SOLVERS = builtin_solvers()
README = Path(__file__).parents[2] / "README.md"


def pairs_of(several):
    return {(dtype, layout) for some in several for dtype in some.types for layout in some.layouts}


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_a_wider_table_of_problems_finds_no_other_type_or_layout(solver):
    """To ask about more kinds of problems changes nothing."""
    accepted = {
        (problem.dtype, layout_of(problem))
        for kind in TABLE
        for problem in table_problems(kind)
        if solver.refusal(problem.canonical(), GPU) is None
    }
    assert pairs_of(served(solver, GPU)) == accepted


def test_types_with_equal_layouts_stand_together():
    first, second = (
        Served(types=(DType.FP32, DType.FP16), layouts=("NCHW", "NHWC")),
        Served(types=(DType.INT8,), layouts=tuple(LAYOUTS)),
    )
    assert str(first) == "FP32 FP16: NCHW NHWC"
    assert str(second) == "INT8: all"


# the README's table


def readme_rows():
    """Name, directions, types and layouts of each row of the table of solvers."""
    table = README.read_text().partition("| solver `HipConv…` |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        names, directions, types, layouts, notes = (cell.strip() for cell in line.strip().strip("|").split("|"))
        for name in re.findall(r"`(\w+)`", names):
            for direction in directions.split(", "):
                yield f"HipConv{name}{direction}", direction, types, layouts, notes


def readme_pairs(direction, types, layouts):
    """`fp32, fp16; int8 Fwd` says int8 of forward alone; `all` are all layouts."""
    always, _, sometimes = types.partition("; ")
    words = always.split(", ") + [word for word, _, only in [sometimes.partition(" ")] if only == direction]
    named = LAYOUTS if layouts == "all" else layouts.split(", ")
    return {(DType(word.upper()), layout) for word in words for layout in named}


def test_the_readme_names_every_solver_once():
    assert sorted(name for name, *_ in readme_rows()) == sorted(solver.name for solver in SOLVERS)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_the_readme_tells_types_and_layouts(solver):
    (row,) = (row for row in readme_rows() if row[0] == solver.name)
    _, direction, types, layouts, notes = row
    assert readme_pairs(direction, types, layouts) == pairs_of(served(solver, GPU))
    assert ("not deterministic" in notes) == (not solver.is_deterministic)
