"""The numbers of the scripted device: read from the launch, computed by the reference, rounded as a kernel does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import signal

from pytest_miopen_perf.checking.tensors import Element, bf16_values, operand_slots, pack, result_slot, tensor_spec
from pytest_miopen_perf.devices import DevicePointer, emulation
from pytest_miopen_perf.devices.recognition import recognise
from pytest_miopen_perf.devices.script import KernelScript, Script, WrongElement
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.launch import KernelSource, Scalar, Slot
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout
from pytest_miopen_perf.problems.pad_mode import PadMode, driver_pad
from pytest_miopen_perf.solvers import implicit_gemm
from pytest_miopen_perf.solvers.problem_macros import problem_macros


@pytest.fixture
def device(closing):
    return closing(ScriptedDevice(Script()))


@pytest.fixture
def computed(monkeypatch):
    """Every problem that the reference was asked to compute."""
    problems = []
    original = emulation.convolve

    def counted(problem, operands):
        problems.append(problem)
        return original(problem, operands)

    monkeypatch.setattr(emulation, "convolve", counted)
    return problems


@st.composite
def problems(draw):
    rank = draw(st.sampled_from([2, 3]))
    groups = draw(st.integers(1, 3))
    axes = [st.tuples(*[st.integers(low, high)] * rank) for low, high in ((1, 6), (1, 3), (0, 2), (1, 3), (1, 2))]
    layouts = st.sampled_from([layout for layout in Layout if layout.rank == rank])
    direction = draw(st.sampled_from(Direction))
    types = list(DType) if direction is Direction.FORWARD else [DType.FP32, DType.FP16, DType.BF16]
    fields = zip(("spatial", "filter", "pad", "stride", "dilation"), map(draw, axes), strict=True)
    problem = ConvProblem(
        direction=direction,
        dtype=draw(st.sampled_from(types)),
        n=draw(st.integers(1, 3)),
        c=draw(st.integers(1, 3)) * groups,
        k=draw(st.integers(1, 3)) * groups,
        groups=groups,
        in_layout=draw(layouts),
        fil_layout=draw(layouts),
        out_layout=draw(layouts),
        **dict(fields),
    )
    mode = draw(st.sampled_from(PadMode))
    problem = replace(problem, pad_mode=mode, pad=driver_pad(problem, mode))
    assume(not problem.is_empty)
    return problem


@given(problem=problems())
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_any_problem_of_the_naive_kernels(prepare, problem):
    prepared = prepare(ScriptedDevice(Script()), problem)
    prepared.launch()
    prepared.assert_right()


@pytest.mark.parametrize("spatial", [(9, 8), (4, 5, 6)])
@pytest.mark.parametrize("groups", [1, 2])
def test_the_implicit_gemm_kernel(device, prepare, small_problem, spatial, groups):
    rank = len(spatial)
    layout = Layout.default(rank)
    problem = small_problem(
        groups=groups,
        spatial=spatial,
        filter=(3, 2, 1)[:rank],
        pad=(1, 0, 2)[:rank],
        stride=(2, 1, 1)[:rank],
        dilation=(1, 2, 1)[:rank],
        **dict.fromkeys(("in_layout", "fil_layout", "out_layout"), layout),
    )
    prepared = prepare(device, problem, solvers=implicit_gemm.SOLVERS)
    prepared.launch()
    prepared.assert_right()


def test_an_independent_convolution_agrees(device, prepare, small_problem):
    problem = small_problem(groups=1, c=1, k=1, n=1, pad=(0, 0), stride=(1, 1), dilation=(1, 1))
    prepared = prepare(device, problem)
    prepared.launch()
    x, w = prepared.operands.first[0, 0], prepared.operands.second[0, 0]
    np.testing.assert_allclose(prepared.result()[0, 0], signal.correlate2d(x, w, mode="valid"))


@pytest.mark.parametrize("dtype", ["FP32", "FP16", "BF16"])
def test_results_are_rounded_to_their_type(device, prepare, small_problem, dtype):
    problem = small_problem(dtype=dtype)
    prepared = prepare(device, problem)
    values = np.random.default_rng(2).standard_normal(problem.x_shape).astype(np.float32)
    spec = tensor_spec(problem, Slot.INPUT)
    device.upload(prepared.buffers[Slot.INPUT], pack(values, spec))
    prepared.launch()
    relative = np.abs(prepared.result() / _reference_of(prepared, pack(values, spec)) - 1).max()
    assert 0 < relative <= Element(dtype).unit_roundoff * 1.001


def _reference_of(prepared, x_memory):
    """The exact result of the operands as they lie in memory."""
    spec = tensor_spec(prepared.problem, Slot.INPUT)
    stored = bf16_values(x_memory) if spec.element is Element.BF16 else x_memory.astype(np.float32)
    x = stored.reshape(spec.shape)
    return replace(prepared, operands=replace(prepared.operands, first=x)).reference()


def test_int8_sums_are_exact_beyond_float(device, prepare, small_problem):
    problem = small_problem(dtype="INT8", groups=1, c=1100, spatial=(3, 3), filter=(1, 1), n=1, k=1)
    prepared = prepare(device, problem)
    for slot in (Slot.INPUT, Slot.WEIGHTS):
        device.fill(prepared.buffers[slot], 127)
    row = np.full(1100, 127, np.int8)
    row[0] = 126
    device.upload(prepared.buffers[Slot.WEIGHTS], row)
    prepared.launch()
    assert prepared.memory()[-1] == 0  # the pad
    assert prepared.memory().max() == 1099 * 127 * 127 + 126 * 127 > 2**24


def test_a_wrong_size_gives_wrong_numbers(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    changed = {"stride_w": 1, "x_c": 62}
    args = [
        replace(arg, value=changed.get(arg.name, arg.value)) if isinstance(arg, Scalar) else arg
        for arg in prepared.args
    ]
    replace(prepared, args=tuple(args)).launch()
    assert (prepared.result() != prepared.reference()).any()


def test_a_tensor_that_passes_its_buffer_does_not_start(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    short = device.alloc(prepared.buffers[Slot.OUTPUT].nbytes - 4)
    args = (*prepared.args[:2], DevicePointer(short), *prepared.args[3:])
    with pytest.raises(LaunchError, match=rf"naive_conv_fwd.*y takes \d+ bytes.*{short.nbytes}"):
        replace(prepared, args=args).launch()


def test_timed_launches_compute_once(device, prepare, small_problem, computed):
    prepared = prepare(device, small_problem())
    for _ in range(50):
        prepared.launch()
    assert len(computed) == 1


def test_a_poisoned_output_is_written_again_from_the_same_result(device, prepare, small_problem, computed):
    prepared = prepare(device, small_problem())
    for _ in range(3):
        prepared.poison()
        prepared.launch()
        prepared.assert_right()
    assert len(computed) == 1


def test_other_kernels_of_the_same_problem_reuse_the_result(device, prepare, small_problem, computed):
    for _ in range(3):
        prepare(device, small_problem(), offset_bytes=0).launch()
    prepare(device, small_problem(), solvers=implicit_gemm.SOLVERS).launch()
    assert len(computed) == 1


def test_new_operands_are_computed(device, prepare, small_problem, computed):
    prepared = prepare(device, small_problem())
    prepared.launch()
    device.fill(prepared.buffers[Slot.WEIGHTS], 0)
    prepared.launch()
    assert len(computed) == 2
    assert not prepared.result().any()


def test_the_cache_is_bounded(device, prepare, small_problem, computed):
    prepared = prepare(device, small_problem())
    for byte in [*range(20), 19, 0]:
        device.fill(prepared.buffers[Slot.INPUT], byte)
        prepared.launch()
    assert len(computed) == 21


def test_poisoned_operands_give_poisoned_results(device, prepare, small_problem):
    prepared = prepare(device, small_problem(pad=(0, 0)))
    device.fill(prepared.buffers[Slot.INPUT], 0xFF)
    prepared.launch()
    assert np.isnan(prepared.result()).all()


def scripted(rule, closing):
    return closing(ScriptedDevice(Script(rules=(rule,))))


@pytest.mark.parametrize(("wrong", "byte"), [("unwritten", 0xFF), ("nan", 0xFF), ("zeros", 0x00)])
@pytest.mark.parametrize("dtype", ["FP32", "FP16", "BF16"])
def test_a_result_that_is_wrong_everywhere(closing, prepare, small_problem, wrong, byte, dtype):
    prepared = prepare(scripted(KernelScript(wrong=wrong), closing), small_problem(dtype=dtype))
    prepared.launch()
    assert set(prepared.memory().view(np.uint8).tolist()) == {byte}


def test_unwritten_differs_from_nan_where_something_was_there(closing, prepare, small_problem):
    for wrong, expected in (("unwritten", 0x11), ("nan", 0xFF)):
        prepared = prepare(scripted(KernelScript(wrong=wrong), closing), small_problem())
        prepared.device.fill(prepared.buffers[Slot.OUTPUT], 0x11)
        prepared.launch()
        assert set(prepared.memory().view(np.uint8).tolist()) == {expected}


@pytest.mark.parametrize("dtype", ["FP32", "FP16", "BF16", "INT8"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_one_wrong_element(closing, prepare, small_problem, dtype, layout):
    rule = KernelScript(wrong=WrongElement(element=11, add=64.0))
    prepared = prepare(scripted(rule, closing), small_problem(dtype=dtype, layout=layout))
    prepared.launch()
    spec = tensor_spec(prepared.problem, result_slot(prepared.problem))
    off = np.flatnonzero(prepared.memory() != pack(prepared.reference().astype(np.float32), spec))
    assert off.tolist() == [11]
    assert np.abs(prepared.result() - prepared.reference()).max() == pytest.approx(64, abs=1)


def test_a_wrong_element_beyond_the_output_says_so(closing, prepare, small_problem):
    rule = KernelScript(wrong=WrongElement(element=10**6, add=1.0))
    prepared = prepare(scripted(rule, closing), small_problem())
    with pytest.raises(LaunchError, match=r"naive_conv_fwd.*element 1000000 of y"):
        prepared.launch()


def test_wrong_from_some_launch_on(closing, prepare, small_problem):
    prepared = prepare(scripted(KernelScript(wrong="zeros", faults_after_launches=2), closing), small_problem())
    for _ in range(2):
        prepared.launch()
        prepared.assert_right()
    prepared.launch()
    assert not prepared.result().any()


def test_an_unknown_kernel_leaves_its_output(device, tmp_path):
    file = tmp_path / "own.hip"
    file.write_text('extern "C" __global__ void own_kernel(float* y) { y[threadIdx.x] = 1.0f; }\n')
    kernel = device.compile(KernelSource(file=str(file), entry="own_kernel"))
    buffer = device.alloc(16)
    device.fill(buffer, 0xFF)
    assert device.launch(kernel, (1, 1, 1), (4, 1, 1), [DevicePointer(buffer)]).seconds() > 0
    received = np.zeros(16, np.uint8)
    device.download(buffer, received)
    assert set(received.tolist()) == {0xFF}


def naive_call(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    return prepared.plan.kernel, {arg.name: arg.value for arg in prepared.args if isinstance(arg, Scalar)}


def test_what_is_not_a_convolution_is_not_recognised(device, prepare, small_problem):
    source, scalars = naive_call(device, prepare, small_problem)
    assert recognise(source, scalars).problem.flops == small_problem().flops
    assert recognise(replace(source, entry="other"), scalars) is None
    assert recognise(replace(source, defines=()), scalars) is None
    assert recognise(replace(source, defines=(("ELEMENT", "FP64"),)), scalars) is None
    assert recognise(source, {}) is None
    assert recognise(source, scalars | {"out_w": scalars["out_w"] + 1}) is None
    assert recognise(source, scalars | {"groups": 0}) is None
    assert recognise(source, scalars | {"stride_h": 0}) is None
    assert recognise(KernelSource(file="f", entry="implicit_gemm_conv_fwd"), {}) is None


def test_macros_that_contradict_each_other_are_not_recognised(small_problem):
    macros = dict(problem_macros(small_problem()))
    wrong = [{"CONV_DIRECTION": "3"}, {"CONV_DIRECTION": "-1"}, {"CONV_OUT_H": "77"}, {"CONV_X_LAYOUT": "NCHW"}]
    for changes in [{}, *wrong, {"ELEMENT": "FP64"}, {"CONV_N": "two"}]:
        source = KernelSource(file="f", entry="any", defines=tuple((macros | changes).items()))
        assert (recognise(source, {}) is None) == bool(changes)


# solutions of several kernels


PARTS = """
extern "C" __global__ void gather_x(const float* x, float* workspace) {}
extern "C" __global__ void multiply_w_y(const float* workspace, const float* w, float* y) {}
extern "C" __global__ void write_y(const float* workspace, float* y) {}
extern "C" __global__ void write_x(const float* workspace, float* x) {}
extern "C" __global__ void write_w(const float* workspace, float* w) {}
"""


@pytest.fixture
def part(tmp_path):
    """Launch a kernel that is given some of the tensors."""
    file = tmp_path / "parts.hip"
    file.write_text(PARTS)

    def launch(prepared, entry, *tensors):
        device = prepared.device
        defines = problem_macros(prepared.problem)
        kernel = device.compile(KernelSource(file=str(file), entry=entry, defines=defines))
        args = [DevicePointer(prepared.buffers[Slot(tensor)]) for tensor in tensors]
        return device.launch(kernel, (1, 1, 1), (1, 1, 1), args)

    return launch


def with_workspace(prepared):
    prepared.buffers[Slot.WORKSPACE] = prepared.device.alloc(64)
    prepared.device.fill(prepared.buffers[Slot.WORKSPACE], 0x55)
    return prepared


@pytest.mark.parametrize("layout", [Layout.NCHW, Layout.NHWC, Layout.CHWN])
@pytest.mark.parametrize("dtype", ["FP32", "BF16"])
def test_tensors_are_handed_on_from_launch_to_launch(device, prepare, small_problem, part, dtype, layout):
    prepared = with_workspace(prepare(device, small_problem(dtype=dtype, layout=layout)))
    part(prepared, "gather_x", "x", "workspace")
    assert set(prepared.memory().view(np.uint8).tolist()) == {0xFF}
    part(prepared, "multiply_w_y", "workspace", "w", "y")
    prepared.assert_right()


@pytest.mark.parametrize(("direction", "writer"), [("F", "write_y"), ("B", "write_x"), ("W", "write_w")])
def test_a_last_kernel_may_be_given_the_result_alone(device, prepare, small_problem, part, direction, writer):
    problem = small_problem(direction)
    prepared = with_workspace(prepare(device, problem))
    for slot in operand_slots(problem):  # any launch that is given them will do
        entry = {"x": "write_x", "w": "write_w", "y": "write_y"}[slot.value]
        part(prepared, entry, "workspace", slot.value)
    part(prepared, writer, "workspace", result_slot(problem).value)
    prepared.assert_right()


def test_nothing_is_written_while_an_operand_has_not_been_seen(device, prepare, small_problem, part):
    prepared = with_workspace(prepare(device, small_problem()))
    part(prepared, "multiply_w_y", "workspace", "w", "y")
    assert set(prepared.memory().view(np.uint8).tolist()) == {0xFF}
    other = with_workspace(prepare(device, small_problem(n=1)))
    part(other, "gather_x", "x", "workspace")
    part(prepared, "multiply_w_y", "workspace", "w", "y")
    assert set(prepared.memory().view(np.uint8).tolist()) == {0xFF}


def test_the_operand_is_the_one_of_the_latest_launch(device, prepare, small_problem, part):
    first, second = (with_workspace(prepare(device, small_problem())) for _ in range(2))
    device.fill(second.buffers[Slot.INPUT], 0)
    for prepared in (first, second, first):
        part(prepared, "gather_x", "x", "workspace")
        part(first, "multiply_w_y", "workspace", "w", "y")
        assert first.result().any() == (prepared is first)
    first.buffers[Slot.INPUT].free()
    first.poison()
    part(first, "multiply_w_y", "workspace", "w", "y")
    assert set(first.memory().view(np.uint8).tolist()) == {0xFF}


def test_only_the_kernel_that_writes_the_result_takes_time_for_its_operations(closing, prepare, small_problem, part):
    device = scripted(KernelScript(seconds=1e-6, seconds_per_gflop=1.0), closing)
    prepared = with_workspace(prepare(device, small_problem()))
    assert part(prepared, "gather_x", "x", "workspace").seconds() < 2e-6
    assert part(prepared, "write_y", "workspace", "y").seconds() > prepared.problem.flops / 2e9


def test_a_part_whose_tensor_passes_its_buffer_does_not_start(device, prepare, small_problem, part):
    prepared = with_workspace(prepare(device, small_problem()))
    prepared.buffers[Slot.INPUT] = device.alloc(8)
    with pytest.raises(LaunchError, match=r"gather_x.*x takes \d+ bytes"):
        part(prepared, "gather_x", "x", "workspace")
