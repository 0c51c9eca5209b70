"""The table of the static gate, as it stands on a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from codeobject.static_rows import baseline_of

from pytest_miopen_perf.codeobject.cases import StaticCase
from pytest_miopen_perf.codeobject.judgement import compare
from pytest_miopen_perf.codeobject.metadata import KernelResources
from pytest_miopen_perf.codeobject.occupancy import Occupancy
from pytest_miopen_perf.codeobject.table import Compiled, StaticRow
from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.launch import KernelSource
from pytest_miopen_perf.report.codeobject_table import static_footer_lines, static_table_lines

CASE = StaticCase(
    target="gfx942",
    problem="fp32-F-1x2",
    solver="Scale",
    config="256,8",
    name="scale",
    kernel=KernelSource(file="scale.hip", entry="scale"),
    work_items=256,
)
TAKEN = KernelResources(
    name="scale",
    target="gfx942",
    vgprs=84,
    agprs=0,
    sgprs=24,
    vgpr_spills=0,
    sgpr_spills=0,
    lds_bytes=8320,
    scratch_bytes=0,
    kernarg_bytes=24,
    code_bytes=5120,
    wavefront=64,
    most_work_items=256,
    is_processor_mode=False,
    args=(),
)
HELD = Occupancy(work_groups=5, waves=20, simds=4, most_waves=32, limited_by=("VGPR",))


def row(*, target="gfx942", compiler="zig clang 22", waves=20, limits=("VGPR",), outcome=None, case=CASE, **taken):
    held = replace(HELD, waves=waves, limited_by=limits)
    compiled = Compiled(resources=replace(TAKEN, target=target, **taken), occupancy=held)
    return StaticRow(case=replace(case, target=target), compiler=compiler, outcome=outcome or compiled)


def judged(rows, before=None):
    return compare(rows, None if before is None else baseline_of(before))


def lines_of(rows, before=None, *, has_colour=False):
    judgements = judged(rows, before)
    return [*static_table_lines(judgements, has_colour=has_colour), *static_footer_lines(judgements)]


def test_without_judgements_there_is_no_table():
    assert lines_of([]) == []


def test_a_kernel_on_two_targets():
    rows = [row(), row(target="gfx1201", vgprs=70, waves=32, limits=("waves", "VGPR"))]
    assert lines_of(rows, rows) == [
        "target      VGPR AGPR SGPR spill  LDS scratch kernarg code waves by   verdict",
        "fp32-F-1x2",
        "  Scale 256,8 scale",
        "    gfx942    84    0   24     0 8320       0      24 5120   5/8 VGPR PASS",
        "    gfx1201   70    0   24     0 8320       0      24 5120   8/8      PASS",
        "",
        "compiler zig clang 22; no GPU was used",
        "kernels  2 PASS",
    ]


def test_where_nothing_is_compared_there_is_no_verdict():
    lines = lines_of([row()])
    assert lines[3].endswith("5/8 VGPR")
    assert lines[-1] == "kernels  1 NOT_COMPARED"


def test_a_change_shows_what_it_was_and_says_what_is_worse():
    lines = lines_of([row(vgprs=130, waves=12, vgpr_spills=3, scratch_bytes=12, kernarg_bytes=32)], [row()])
    assert lines[3] == "    gfx942 84>130    0   24   0>3 8320    0>12   24>32 5120 5>3/8 VGPR REGRESSION"
    assert "gfx942 scale: waves on 4 SIMDs: 20, now 12 (limit 0 fewer)" in lines
    assert "gfx942 scale: spilled registers: 0, now 3 (limit 0 more)" in lines
    assert lines[-1] == "kernels  1 REGRESSION"


def test_scalar_spills_stand_behind_the_vector_ones_and_are_no_fault():
    lines = lines_of([row(sgpr_spills=5)], [row(sgpr_spills=5)])
    assert lines[3].split()[4] == "0+5s"
    assert lines[-1] == "kernels  1 PASS"
    worse = lines_of([row(sgpr_spills=5)], [row()])
    assert worse[3].split()[4] == "0>0+5s"
    assert worse[-1] == "kernels  1 REGRESSION"


def test_the_worst_news_come_first():
    other = replace(CASE, config="64,8", problem="fp32-F-9x2")
    lines = lines_of([row(), row(case=other, vgpr_spills=2)], [row()])
    assert [line for line in lines if line.startswith("fp32")] == ["fp32-F-9x2", "fp32-F-1x2"]


def test_a_problem_is_named_once_for_its_kernels():
    other = replace(CASE, config="64,8", work_items=64)
    lines = lines_of([row(), row(case=other)], [row(), row(case=other)])
    assert lines.count("fp32-F-1x2") == 1
    assert "  Scale 64,8 scale" in lines


def test_a_kernel_of_no_solver_stands_under_its_file():
    own = replace(CASE, problem="a.hip", solver="", config="TILE=4")
    assert lines_of([row(case=own)])[1:3] == ["a.hip", "  TILE=4 scale"]


def test_a_kernel_that_does_not_compile_has_no_figures():
    lines = lines_of([row(outcome=CompileError("scale does not compile", "error: x\nmore"))])
    assert lines[3].split() == ["gfx942", "FAULTY"]
    assert "gfx942 scale: scale does not compile" in lines
    assert "more" not in lines


def test_another_compiler_is_named_once():
    rows = [row(), row(target="gfx90a")]
    lines = lines_of(rows, [replace(each, compiler="zig clang 9") for each in rows])
    assert lines.count("the baseline is of zig clang 9; this compiler is zig clang 22") == 1
    assert lines[-1] == "kernels  2 NO_BASELINE"


@pytest.mark.parametrize(("has_colour", "is_there"), [(True, True), (False, False)])
def test_colour_is_for_terminals(has_colour, is_there):
    assert any("\x1b[" in line for line in lines_of([row()], [row()], has_colour=has_colour)) is is_there
