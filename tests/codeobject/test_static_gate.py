"""The gate in one piece: real kernels against a baseline, and what makes an item fail."""

import importlib.util
from dataclasses import replace

import pytest

from pytest_miopen_perf.codeobject.baseline import StaticLimits, StaticVerdict, baseline_of, compare
from pytest_miopen_perf.codeobject.baseline_file import load_baseline, save_baseline
from pytest_miopen_perf.codeobject.cases import StaticCase, planned_cases
from pytest_miopen_perf.codeobject.gate import StaticGate, accept, failure_of, open_gate, probe
from pytest_miopen_perf.codeobject.table import clean_configs, faults, faults_by_config, resources_table
from pytest_miopen_perf.errors import CompileError, DeviceUnavailableError, SettingsError
from pytest_miopen_perf.launch import Launch, Pointer, Slot
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import naive

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
    def make(text, *, target="gfx942", tile="64", config="", name="kernel.hip"):
        kernel = hip_file(text, name=name, defines=(("TILE", tile),))
        args = (Pointer("x", Slot.INPUT), Pointer("y", Slot.OUTPUT))
        launch = Launch(kernel=kernel, grid=(1, 1, 1), block=(64, 1, 1), args=args)
        return StaticCase(target=target, solver="Reverse", config=config, problem="conv", launch=launch)

    return make


def test_a_clean_kernel_passes_once_it_is_accepted(builder, case_of, tmp_path):
    path = tmp_path / "b.json"
    gate = StaticGate(["gfx942"], builder)
    (first,) = gate.judge([case_of(REVERSE)])
    assert (first.verdict, first.faults) == (StaticVerdict.NO_BASELINE, ())
    assert failure_of([first]) == ""
    accept(path, [first])
    (second,) = StaticGate(["gfx942"], builder, load_baseline(path)).judge([case_of(REVERSE)])
    assert second.verdict is StaticVerdict.PASS
    assert second.before is not None


def test_a_kernel_that_begins_to_spill_fails_its_item(builder, case_of):
    before = resources_table([case_of(REVERSE)], builder)
    gate = StaticGate(["gfx942"], builder, baseline_of(before))
    (judgement,) = gate.judge([case_of(SPILLING, config="8,8")])
    assert judgement.verdict is StaticVerdict.REGRESSION
    lines = failure_of([judgement]).splitlines()
    assert all(line.startswith("k [8,8] on gfx942: ") for line in lines)
    assert any("spilled registers: 0, now " in line for line in lines)
    assert any("it spills" in line for line in lines)


def test_lds_may_grow_as_far_as_the_limit(builder, case_of):
    (before,) = resources_table([case_of(REVERSE, tile="64")], builder)
    (now,) = resources_table([case_of(REVERSE, tile="80")], builder)
    now = replace(now, case=before.case)
    for limit, verdict in ((64, StaticVerdict.PASS), (63, StaticVerdict.REGRESSION)):
        (judgement,) = compare([now], baseline_of([before]), StaticLimits(lds_bytes=limit))
        assert judgement.verdict is verdict


def test_accepting_keeps_what_was_not_looked_at(builder, case_of, make_row, tmp_path):
    path = tmp_path / "b.json"
    save_baseline(path, baseline_of([make_row(compiler="zig clang 1")]))
    accept(path, StaticGate(["gfx942"], builder).judge([case_of(REVERSE)]))
    kept = load_baseline(path)
    assert {key.entry for key in kept} == {"scale", "k"}
    assert {key.compiler for key in kept} == {"zig clang 1", builder.compiler.version}


def test_a_kernel_that_does_not_compile_is_a_row_like_another(builder, case_of):
    bad, good = resources_table([case_of("no kernel", name="bad.hip"), case_of(REVERSE)], builder)
    assert isinstance(bad.outcome, CompileError)
    assert "does not compile" in faults(bad)[0]
    assert faults(good) == ()


def test_faults_that_need_no_baseline(make_row):
    row = make_row()
    assert faults(row) == ()
    assert faults(make_row(vgpr_spills=3)) == ("it spills 3 vector registers",)
    assert faults(make_row(sgpr_spills=3)) == ()
    assert "16 bytes of each work-item" in faults(make_row(scratch_bytes=16))[0]
    assert "reads 1 arguments" in faults(make_row(args=row.outcome.resources.args[:1]))[0]
    held = replace(row.outcome, occupancy=replace(row.outcome.occupancy, work_groups=0, limited_by=("LDS",)))
    assert faults(replace(row, outcome=held)) == ("not one work-group fits a compute unit, by LDS",)


def test_a_search_space_is_pruned_by_target(make_row):
    rows = [
        make_row(config="1"),
        make_row(config="1", target="gfx1201"),
        make_row(config="2"),
        make_row(config="2", target="gfx1201", vgpr_spills=5),
        make_row(config="3"),
    ]
    found = faults_by_config(rows)
    assert found["2"]["gfx942"] == ()
    assert found["2"]["gfx1201"] == ("it spills 5 vector registers",)
    assert clean_configs(found, ["gfx942"]) == ("1", "2", "3")
    assert clean_configs(found, ["gfx942", "gfx1201"]) == ("1",)


def test_cases_are_planned_only_where_the_solver_serves():
    (problem,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 5 -W 5 -k 4 -y 3 -x 3 -F 1")
    forward, backward = (solver for solver in naive.SOLVERS if solver.name in ("HipConvNaiveFwd", "HipConvNaiveBwd"))
    assert [case.target for case in planned_cases(forward, problem, ["gfx90a", "gfx1100"])] == ["gfx90a", "gfx1100"]
    assert list(planned_cases(backward, problem, ["gfx90a"])) == []


def test_a_gate_for_a_target_that_the_compiler_lacks_says_so(builder):
    with pytest.raises(DeviceUnavailableError, match="does not know gfx9999"):
        StaticGate(["gfx9999"], builder)
    with pytest.raises(SettingsError, match="'sm_90' is no AMD GPU target"):
        StaticGate(["sm_90"], builder)


def test_opening_takes_every_target_that_can_be_built(builder, tmp_path):
    opened = open_gate(cache_dir=tmp_path / "cache", baseline_path=tmp_path / "none.json")
    assert {"gfx90a", "gfx942", "gfx1100", "gfx1201"} <= set(opened.targets)
    assert opened.compiler == builder.compiler.version
    opened.close()


@pytest.mark.parametrize("absent", ["ziglang", "elftools", "msgpack"])
def test_what_is_not_installed_is_a_reason_with_the_remedy(monkeypatch, absent):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == absent else find_spec(name))
    assert "pip install 'pytest-miopen-perf[amdgpu]'" in probe()
    with pytest.raises(DeviceUnavailableError, match="install the extra"):
        open_gate()


def test_the_baseline_of_an_open_gate_must_be_one(builder, tmp_path):
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(SettingsError, match="is no code-object baseline"):
        open_gate(baseline_path=tmp_path / "b.json")
    assert probe() == ""
