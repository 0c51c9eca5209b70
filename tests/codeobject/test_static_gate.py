"""The gate in one piece: real kernels against a baseline, and what makes a test fail."""

import importlib.util
from dataclasses import replace

import pytest
from static_rows import baseline_of, faults

from pytest_miopen_perf.codeobject.baseline_file import load_baseline, save_baseline
from pytest_miopen_perf.codeobject.cases import own_case, planned_cases, solution_cases
from pytest_miopen_perf.codeobject.gate import StaticGate, accept, complaint, open_gate, probe, targets_of
from pytest_miopen_perf.codeobject.judgement import StaticVerdict, compare
from pytest_miopen_perf.codeobject.limits import Growth, StaticLimits
from pytest_miopen_perf.codeobject.table import memory_faults, resources_table
from pytest_miopen_perf.errors import CodeObjectError, CompileError, DeviceUnavailableError, SettingsError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import PerformanceConfig, Solution, naive

REVERSE = """
extern "C" __global__ void __launch_bounds__(64) k(const float* x, float* y)
{
    __shared__ float tile[TILE];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
SPILLING = """
extern "C" __global__ void __launch_bounds__(64) __attribute__((amdgpu_num_vgpr(24))) k(const float* x, float* y)
{
    float kept[48];
#pragma unroll
    for(int i = 0; i < 48; ++i) kept[i] = x[i * 64 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for(int i = 0; i < 48; ++i) y[threadIdx.x * 48 + i] = kept[i] * kept[(i * 7 + 3) % 48];
}
"""


@pytest.fixture
def case_of(hip_file):
    def make(text, *, target="gfx942", tile="64", name="kernel.hip", entry="k"):
        kernel = replace(hip_file(text, name=name, defines=(("TILE", tile),)), entry=entry)
        args = (Pointer("x", Slot.INPUT), Pointer("y", Slot.OUTPUT))
        return own_case(kernel, 64, target=target, args=args, name="reverse")

    return make


def test_a_clean_kernel_passes_once_it_is_accepted(builder, case_of, tmp_path):
    path = tmp_path / "deep" / "b.json"
    (first,) = StaticGate(builder, {}).judge([case_of(REVERSE)])
    assert first.verdict is StaticVerdict.NO_BASELINE
    assert accept(path, [first]) == 1
    (second,) = StaticGate(builder, load_baseline(path)).judge([case_of(REVERSE)])
    assert second.verdict is StaticVerdict.PASS
    assert second.before == second.now == first.now


def test_a_kernel_that_begins_to_spill_is_worse_whatever_its_text(builder, case_of):
    before = resources_table([case_of(REVERSE)], builder)
    (judgement,) = StaticGate(builder, baseline_of(before)).judge([case_of(SPILLING)])
    assert judgement.verdict is StaticVerdict.REGRESSION
    assert complaint(judgement).startswith("REGRESSION reverse k on gfx942: spilled registers: 0, now ")


def test_lds_may_grow_as_far_as_the_limit(builder, case_of):
    (before,) = resources_table([case_of(REVERSE, tile="64")], builder)
    (now,) = resources_table([case_of(REVERSE, tile="80")], builder)
    for growth, verdict in (
        (Growth(count=64), StaticVerdict.PASS),
        (Growth(count=63), StaticVerdict.REGRESSION),
        (Growth(share=0.25), StaticVerdict.PASS),
        (Growth(share=0.24), StaticVerdict.REGRESSION),
    ):
        (judgement,) = compare([now], baseline_of([before]), StaticLimits(lds=growth))
        assert judgement.verdict is verdict


def test_accepting_keeps_what_was_not_looked_at(builder, case_of, make_row, tmp_path):
    path = tmp_path / "b.json"
    save_baseline(path, baseline_of([make_row(compiler="zig clang 1")]))
    accept(path, StaticGate(builder).judge([case_of(REVERSE)]))
    kept = load_baseline(path)
    assert {key.kernel for key in kept} == {"scale", "k"}
    assert {key.compiler for key in kept} == {"zig clang 1", builder.compiler.version}


def test_every_kernel_is_told_when_it_is_built(builder, case_of):
    told = []
    cases = [case_of(REVERSE), case_of(REVERSE, target="gfx1201"), case_of(REVERSE)]
    StaticGate(builder).judge(cases, lambda: told.append(1))
    assert len(told) == 2


def test_a_kernel_that_is_not_in_its_file_is_a_row_like_another(builder, case_of):
    absent, good = resources_table([case_of(REVERSE, entry="gone"), case_of(REVERSE)], builder)
    assert isinstance(absent.outcome, CodeObjectError)
    assert faults(absent) == ("the code object holds no kernel 'gone'; it holds: k",)
    assert faults(good) == ()


def test_waves_that_the_target_does_not_have_are_damage(builder, case_of):
    class Flipped(type(builder)):
        def build(self, source, target):
            return builder.build(source, target).replace(b".wavefront_size\x40", b".wavefront_size\x20")

    (row,) = resources_table([case_of(REVERSE)], Flipped(builder.compiler))
    assert faults(row) == ("the code object is damaged: k has waves of 32, and those of gfx942 are of 64",)


def test_arguments_are_compared_only_where_they_are_known(builder, case_of):
    case = case_of(REVERSE)
    wrong, unknown = resources_table([replace(case, args=case.args[:1]), replace(case, args=None)], builder)
    assert faults(wrong) == ("k reads 2 arguments, the launch passes 1",)
    assert faults(unknown) == ()


def test_without_a_block_the_launch_bounds_count(builder, case_of):
    case = case_of(REVERSE)
    given, bounds = resources_table([case, replace(case, work_items=None)], builder)
    assert given.outcome == bounds.outcome


@pytest.mark.parametrize(("block", "shared"), [(0, 0), ((64, 0, 1), 0), (64, -1)])
def test_a_work_group_that_cannot_be_is_refused(block, shared):
    with pytest.raises(SettingsError, match="cannot be launched"):
        own_case(KernelSource(file="a.hip", entry="k"), block, shared)


def test_an_own_kernel_is_called_by_what_specialises_it():
    kernel = KernelSource(file="/some/where/a.hip", entry="k", defines=(("TILE", "4"),), options=("-O1",))
    case = own_case(kernel, (8, 8, 1), 16)
    assert (case.problem, case.config, case.name) == ("a.hip", "TILE=4 -O1 block=64 shared=16", "k")
    named = own_case(kernel, 64, name="mine")
    assert (named.problem, named.config, named.name) == ("mine", "", "k")


def test_a_kernel_stands_once_however_often_it_is_launched():
    def launch(value, block=64):
        kernel = KernelSource(file="a.hip", entry="k", defines=(("N", value),))
        return Launch(kernel=kernel, grid=(1, 1, 1), block=(block, 1, 1), args=())

    launches = (launch("1"), launch("2"), launch("1"), launch("1", 32))
    solution = Solution(solver="S", solver_id=1, config=PerformanceConfig(), workspace_bytes=0, launches=launches)
    cases = solution_cases(solution, "gfx942", "p")
    assert [case.name for case in cases] == ["k", "k#2", "k#3"]


def test_a_kernel_that_does_not_compile_is_a_row_like_another(builder, case_of):
    bad, good = resources_table([case_of("no kernel", name="bad.hip"), case_of(REVERSE)], builder)
    assert isinstance(bad.outcome, CompileError)
    assert "does not compile" in faults(bad)[0]
    assert faults(good) == ()


def test_faults_that_need_no_baseline(make_row):
    row = make_row()
    assert faults(row) == ()
    assert faults(make_row(vgpr_spills=3)) == ("it spills 3 vector registers",)
    assert faults(make_row(sgpr_spills=3)) == ("it spills 3 scalar registers",)
    assert not list(memory_faults(make_row(sgpr_spills=3), StaticLimits())), "of a user's kernel they are no fault"
    assert "16 bytes of each work-item" in faults(make_row(scratch_bytes=16))[0]
    assert "reads 1 arguments" in faults(make_row(args=row.outcome.resources.args[:1]))[0]
    held = replace(row.outcome, occupancy=replace(row.outcome.occupancy, work_groups=0, limited_by=("LDS",)))
    assert faults(replace(row, outcome=held)) == ("not one work-group fits a compute unit, by LDS",)


def test_cases_are_planned_only_where_the_solver_serves(tmp_path):
    (problem,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 5 -W 5 -k 4 -y 3 -x 3 -F 1")
    forward, backward = (solver for solver in naive.SOLVERS if solver.name in ("HipConvNaiveFwd", "HipConvNaiveBwd"))
    cases = list(planned_cases(forward, problem, ["gfx90a", "gfx1100"], kernels=tmp_path))
    assert [case.target for case in cases] == ["gfx90a", "gfx1100"]
    assert {case.problem for case in cases} == {str(problem)}
    assert all(case.kernel.file.startswith(str(tmp_path)) for case in cases)
    assert list(planned_cases(backward, problem, ["gfx90a"])) == []


def test_the_compiler_is_asked_once_for_a_target(builder, monkeypatch):
    asked = []
    monkeypatch.setattr(builder, "refusal", lambda target: asked.append(target) or "does not know it")
    gate = StaticGate(builder)
    assert gate.refusal("gfx9999") == gate.refusal("gfx9999") == "does not know it"
    assert asked == ["gfx9999"]


def test_an_open_gate_has_the_compiler_of_this_machine(builder, tmp_path):
    opened = open_gate(cache_dir=tmp_path / "cache")
    assert opened.compiler == builder.compiler.version
    opened.close()


def test_targets_of_a_baseline_stand_in_the_order_of_the_table(make_row):
    rows = [make_row(target=target) for target in ("gfx1201", "gfx000", "gfx90a:xnack-", "gfx90a")]
    assert targets_of(baseline_of(rows)) == ("gfx90a", "gfx90a:xnack-", "gfx1201")
    assert targets_of(None) == ()


@pytest.mark.parametrize("absent", ["ziglang", "elftools", "msgpack"])
def test_what_is_not_installed_is_a_reason_with_the_remedy(monkeypatch, absent):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == absent else find_spec(name))
    assert "pip install '" in probe()
    with pytest.raises(DeviceUnavailableError, match="pip install "):
        open_gate()
