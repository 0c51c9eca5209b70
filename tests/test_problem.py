import dataclasses
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, small_problems

from pytest_miopen_perf.errors import ProblemError
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout
from pytest_miopen_perf.problems.pad_mode import PadMode, driver_pad


def conv(**changes) -> ConvProblem:
    fields = {
        "direction": Direction.FORWARD,
        "dtype": DType.FP32,
        "n": 2,
        "c": 8,
        "k": 12,
        "spatial": (9, 7),
        "filter": (3, 3),
        "pad": (1, 1),
        "stride": (1, 1),
        "dilation": (1, 1),
        "in_layout": Layout.NCHW,
        "fil_layout": Layout.NCHW,
        "out_layout": Layout.NCHW,
    }
    return ConvProblem(**(fields | changes))


def windows(size: int, filter_size: int, pad: int, stride: int, dilation: int) -> int:
    """An oracle that counts: how many window positions fit into one padded axis."""
    span = dilation * (filter_size - 1)
    return sum(1 for start in range(0, size + 2 * pad, stride) if start + span < size + 2 * pad)


def axis(problem: ConvProblem, i: int) -> tuple[int, ...]:
    return (problem.filter[i], problem.pad[i], problem.stride[i], problem.dilation[i])


# --- sizes


@given(small_problems(transposed=[False]))
def test_output_counts_the_windows_that_fit(problem):
    counted = [windows(problem.spatial[i], *axis(problem, i)) for i in range(problem.rank)]
    assert list(problem.output) == counted


@given(small_problems(transposed=[True]))
def test_transposed_output_is_an_input_that_gives_the_spatial_size_back(problem):
    counted = [windows(problem.output[i], *axis(problem, i)) for i in range(problem.rank)]
    assert counted == list(problem.spatial)


@given(size=st.integers(1, 40), filter_size=st.integers(1, 12), stride=st.integers(1, 6), mode=st.sampled_from(PadMode))
def test_pad_modes_give_the_sizes_and_pads_of_the_driver(size, filter_size, stride, mode):
    plain = conv(spatial=(size, 1), filter=(filter_size, 1), pad=(2, 0), stride=(stride, 1))
    problem = dataclasses.replace(plain, pad=driver_pad(plain, mode), pad_mode=mode)
    expected = {
        PadMode.DEFAULT: ((size + 4 - filter_size) // stride + 1, 2),
        PadMode.SAME: (
            math.ceil(size / stride),
            max(filter_size - (stride if size % stride == 0 else size % stride), 0) // 2,
        ),
        PadMode.VALID: (math.ceil((size - filter_size + 1) / stride), 0),
    }[mode]
    assert (problem.output[0], problem.pad[0]) == expected


def test_pad_modes_do_not_touch_a_dilated_convolution_unless_the_filter_is_of_ones():
    dilated = conv(dilation=(2, 1))
    assert driver_pad(dilated, PadMode.SAME) == (1, 1)
    assert dataclasses.replace(dilated, pad_mode=PadMode.SAME).output == dilated.output
    ones = conv(filter=(1, 1), dilation=(2, 1))
    assert driver_pad(ones, PadMode.VALID) == (0, 0)
    assert dataclasses.replace(ones, pad=(0, 0), pad_mode=PadMode.VALID).output == ones.spatial


def test_pad_modes_do_not_touch_a_transposed_convolution():
    assert driver_pad(conv(transposed=True), PadMode.VALID) == (1, 1)


@given(problems())
def test_shapes_follow_from_the_fields(problem):
    assert problem.x_shape == (problem.n, problem.c, *problem.spatial)
    assert problem.y_shape == (problem.n, problem.k, *problem.output)
    assert math.prod(problem.w_shape) * problem.groups == problem.c * problem.k * math.prod(problem.filter)
    assert problem.miopen_output == tuple(max(1, size) for size in problem.output)
    assert problem.is_empty == any(size < 1 for size in problem.output)


def test_transposed_weights_have_the_input_channels_first():
    assert conv(groups=4).w_shape == (12, 2, 3, 3)
    assert conv(groups=4, transposed=True).w_shape == (8, 3, 3, 3)


# --- counts


@given(small_problems(transposed=[False]))
def test_flops_are_two_for_each_product_of_every_output_element(problem):
    products_of_one = problem.c // problem.groups * math.prod(problem.filter)
    assert problem.flops == 2 * products_of_one * math.prod(problem.y_shape)


@given(small_problems(dtypes=[DType.FP32, DType.FP16, DType.BF16]))
def test_canonical_moves_the_same_bytes_and_computes_what_the_input_asks_for(problem):
    plain = problem.canonical()
    assert not plain.transposed
    assert plain.canonical() == plain
    assert plain.memory_bytes() == problem.memory_bytes()
    assert (plain.bytes_read, plain.bytes_written) == (problem.bytes_read, problem.bytes_written)
    assert plain.w_shape == problem.w_shape
    assert plain.reduction_length == problem.reduction_length
    if problem.transposed:
        assert (plain.y_shape, plain.x_shape) == (problem.x_shape, problem.y_shape)
        assert plain.flops * math.prod(problem.output) == problem.flops * math.prod(problem.spatial)
    else:
        assert plain is problem


def test_canonical_turns_the_directions_and_the_layouts():
    problem = conv(transposed=True, in_layout=Layout.NHWC, fil_layout=Layout.CHWN)
    turned = [dataclasses.replace(problem, direction=direction).canonical().direction for direction in Direction]
    assert turned == [Direction.BACKWARD_DATA, Direction.FORWARD, Direction.BACKWARD_WEIGHTS]
    plain = problem.canonical()
    assert (plain.in_layout, plain.fil_layout, plain.out_layout) == (Layout.NCHW, Layout.CHWN, Layout.NHWC)


def test_an_empty_transposed_convolution_has_no_plain_twin():
    with pytest.raises(ProblemError, match=r"padding 2x2 takes away the whole output .* on axis h: .* -3x\d"):
        conv(transposed=True, spatial=(1, 9), filter=(1, 1), pad=(2, 2)).canonical()


@pytest.mark.parametrize(
    ("direction", "length"),
    [(Direction.FORWARD, 2 * 9), (Direction.BACKWARD_DATA, 3 * 9), (Direction.BACKWARD_WEIGHTS, 2 * 9 * 7)],
)
def test_reduction_length_is_the_longest_sum(direction, length):
    assert conv(direction=direction, groups=4).reduction_length == length


def test_bytes_are_those_of_the_tensors_that_each_direction_touches():
    x, w, y = 2 * 8 * 63 * 2, 12 * 8 * 9 * 2, 2 * 12 * 63 * 2
    moved = {
        direction: (problem.bytes_read, problem.bytes_written)
        for direction in Direction
        for problem in [conv(dtype=DType.FP16, direction=direction)]
    }
    assert moved == {
        Direction.FORWARD: (x + w, y),
        Direction.BACKWARD_DATA: (w + y, x),
        Direction.BACKWARD_WEIGHTS: (x + y, w),
    }
    assert conv(dtype=DType.FP16).memory_bytes(100) == x + w + y + 100


def test_int8_convolutions_write_int32():
    assert conv(dtype=DType.INT8).tensor_bytes == (2 * 8 * 63, 12 * 8 * 9, 2 * 12 * 63 * 4)


def test_a_tensor_beyond_32_bits_is_counted_right():
    video = conv(dtype=DType.FP16, n=1, c=768, k=768, spatial=(320, 320), filter=(1, 1), pad=(0, 0))
    assert dataclasses.replace(video, n=100).tensor_bytes[0] == 15_728_640_000


# --- layouts


@pytest.mark.parametrize("layout", Layout)
def test_strides_are_those_of_a_packed_tensor(layout):
    shape = (2, 3, 4, 5, 6)[: layout.rank + 2]
    strides = layout.strides(shape)
    offsets = [
        sum(index * stride for index, stride in zip(indices, strides, strict=True))
        for indices in itertools.product(*map(range, shape))
    ]
    assert sorted(offsets) == list(range(math.prod(shape)))
    assert strides[layout.order()[-1]] == 1


# --- names


def test_names_leave_out_what_is_default():
    assert str(conv(dtype=DType.FP16)) == "fp16-F-2x8x9x7-k12-3x3-p1"
    assert str(conv(groups=4, stride=(1, 2), in_layout=Layout.NHWC)) == (
        "fp32-F-2x8x9x7-k12-3x3-p1-s1x2-g4-NHWC-NCHW-NCHW"
    )
    same = conv(pad_mode=PadMode.SAME, transposed=True, output_pad=(1, 0), stride=(2, 2))
    assert str(same) == "fp32-transF-2x8x9x7-k12-3x3-p1-s2-o1x0-same"


@given(first=problems(), second=problems())
def test_different_problems_have_different_names(first, second):
    assert (str(first) == str(second)) == (first == second)


@given(first=problems(), second=problems(), data=st.data())
def test_problems_that_differ_in_one_field_have_different_names(first, second, data):
    field = data.draw(st.sampled_from([field.name for field in dataclasses.fields(ConvProblem)]))
    try:
        other = dataclasses.replace(first, **{field: getattr(second, field)})
    except ProblemError:
        return
    assert (str(first) == str(other)) == (first == other)


# --- empty


def test_a_runnable_problem_has_no_reason():
    assert not conv().is_empty
    assert conv().empty_reason == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"spatial": (1, 1), "filter": (4, 4), "pad": (0, 0)},
            "filter 4x4 does not fit into the padded input 1x1 on axis h and w: the output would be -2x-2",
        ),
        (
            {"spatial": (9, 2), "filter": (3, 3), "pad": (0, 1), "dilation": (1, 2)},
            "filter 3x3 with dilation 1x2 does not fit into the padded input 9x4 on axis w: the output would be 7x0",
        ),
        (
            {"spatial": (9, 2), "filter": (3, 3), "pad": (0, 0), "pad_mode": PadMode.VALID},
            "filter 3x3 does not fit into the padded input 9x2 on axis w: the output would be 7x0",
        ),
    ],
)
def test_an_empty_problem_says_which_axis_is_empty(changes, reason):
    problem = conv(**changes)
    assert problem.is_empty
    assert problem.empty_reason == reason


@given(problems())
def test_only_empty_problems_have_a_reason(problem):
    assert bool(problem.empty_reason) == problem.is_empty


# --- checks


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 0),
        ("n", 2.0),
        ("n", True),
        ("c", -8),
        ("k", "12"),
        ("groups", 0),
        ("groups", 3),
        ("groups", 16),
        ("spatial", (9,)),
        ("spatial", (1, 9, 9, 9)),
        ("spatial", [9, 7]),
        ("filter", (0, 3)),
        ("filter", (3, 3, 3)),
        ("pad", (-1, 0)),
        ("stride", (1, 0)),
        ("dilation", (0, 1)),
        ("dilation", (1, 1.5)),
        ("output_pad", (1, 0)),
        ("in_layout", Layout.NDHWC),
        ("fil_layout", Layout.NCDHW),
        ("out_layout", Layout.NDHWC),
    ],
)
def test_the_wrong_field_is_named(field, value):
    with pytest.raises(ProblemError) as caught:
        conv(**{field: value})
    assert caught.value.field == field


def test_output_pad_must_be_below_the_stride():
    assert conv(transposed=True, stride=(2, 1), output_pad=(1, 0)).output_pad == (1, 0)
    with pytest.raises(ProblemError, match="output_pad 1x1 is not below the stride 2x1"):
        conv(transposed=True, stride=(2, 1), output_pad=(1, 1))


def test_pads_must_be_those_of_the_pad_mode():
    with pytest.raises(ProblemError, match="pad is 1x1; pad mode valid makes it 0x0"):
        conv(pad_mode=PadMode.VALID)


@given(problems())
def test_a_problem_is_a_value(problem):
    assert hash(dataclasses.replace(problem)) == hash(problem)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.n = 1


@pytest.mark.parametrize("line", [None, 3, b"conv -n 1"])
def test_a_command_that_is_no_text_is_told_in_words(line):
    with pytest.raises(TypeError, match=f"is a text, such as .* and no {type(line).__name__}"):
        ConvProblem.from_driver(line)
