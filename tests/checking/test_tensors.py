import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import LAYOUTS, small_problems

from pytest_miopen_perf.checking.tensors import (
    Element,
    TensorSpec,
    bf16_bits,
    bf16_values,
    operand_slots,
    pack,
    quantize,
    result_slot,
    tensor_spec,
    unpack,
)
from pytest_miopen_perf.launch import Slot
from pytest_miopen_perf.problem import DType

FLOATS = (Element.FP32, Element.FP16, Element.BF16)
LAYOUTS_OF_ALL_RANKS = [layout for layouts in LAYOUTS.values() for layout in layouts]


def spec(layout, element, shape=(2, 3, 4, 5)):
    shape = shape if layout.rank == 2 else (*shape, 2)
    return TensorSpec(slot=Slot.INPUT, shape=shape, layout=layout, element=element)


def values_of(tensor):
    """Distinct small integers, which every element type holds."""
    return np.arange(tensor.elements, dtype=np.float32).reshape(tensor.shape) % 121 - 60


@pytest.mark.parametrize("layout", LAYOUTS_OF_ALL_RANKS)
@pytest.mark.parametrize("element", Element)
def test_what_is_packed_unpacks(layout, element):
    tensor = spec(layout, element)
    memory = pack(values_of(tensor), tensor)
    assert memory.shape == (tensor.elements,)
    assert memory.dtype == element.numpy_type
    assert memory.nbytes == tensor.nbytes
    np.testing.assert_array_equal(unpack(memory, tensor), values_of(tensor))


@pytest.mark.parametrize("layout", LAYOUTS_OF_ALL_RANKS)
def test_packed_elements_lie_where_the_layout_strides_say(layout):
    tensor = spec(layout, Element.FP32)
    values, memory = values_of(tensor), pack(values_of(tensor), tensor)
    for index in np.ndindex(tensor.shape):
        assert memory[np.dot(index, layout.strides(tensor.shape))] == values[index]


def test_packing_changes_no_argument():
    tensor = spec(LAYOUTS[2][1], Element.BF16)
    values = values_of(tensor)
    pack(values, tensor)
    np.testing.assert_array_equal(values, values_of(tensor))


def test_every_bf16_value_keeps_its_bits():
    bits = np.arange(2**16, dtype=np.uint16)
    values = bf16_values(bits)
    numbers = ~np.isnan(values)
    np.testing.assert_array_equal(bf16_bits(values)[numbers], bits[numbers])
    assert np.isnan(bf16_values(bf16_bits(values))[~numbers]).all()


@pytest.mark.parametrize("low_bits", [0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF])
def test_bf16_rounds_to_the_nearest_and_ties_to_even(low_bits):
    """Above every bf16 number of either sign, from the subnormal ones to the overflow to infinity."""
    below = np.concatenate([np.arange(0x7F80), np.arange(0x8000, 0xFF80)]).astype(np.uint32)
    values = (below << 16 | low_bits).view(np.float32)
    wide = np.float64(values)
    low, high = np.float64((below << 16).view(np.float32)), np.float64(((below + 1) << 16).view(np.float32))
    high = np.where(np.isinf(high), np.copysign(2.0**128, high), high)  # where the next number would be
    to_low, to_high = np.abs(wide - low), np.abs(high - wide)
    takes_high = (to_high < to_low) | ((to_high == to_low) & (below % 2 == 1))
    np.testing.assert_array_equal(bf16_bits(values), below + takes_high)


@pytest.mark.parametrize("bits", [0x7F800001, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF, 0x7FC00000])
def test_a_nan_stays_a_nan_in_bf16(bits):
    assert np.isnan(bf16_values(bf16_bits(np.array([bits], np.uint32).view(np.float32)))).all()


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1))
def test_quantized_floats_pack_without_a_further_rounding(numbers):
    for element in FLOATS:
        tensor = spec(LAYOUTS[2][0], element, (len(numbers), 1, 1, 1))
        with np.errstate(over="ignore"):
            values = quantize(np.array(numbers, np.float32), element)
        np.testing.assert_array_equal(unpack(pack(values, tensor), tensor).ravel(), values)


@pytest.mark.parametrize("element", FLOATS)
def test_rounding_errs_by_no_more_than_the_unit_roundoff_and_as_much_as_it(element):
    values = np.linspace(1, 2, 100_001, dtype=np.float32)
    errors = np.abs(np.float64(quantize(values, element)) - values) / values
    assert errors.max() <= element.unit_roundoff
    if element is not Element.FP32:
        assert errors.max() > 0.98 * element.unit_roundoff


@pytest.mark.parametrize("element", FLOATS)
def test_smallest_is_the_smallest_number_that_is_not_zero(element):
    smallest = np.array([element.smallest], np.float32)
    assert quantize(smallest, element)[0] == element.smallest
    assert quantize(smallest / 2, element)[0] == 0


@pytest.mark.parametrize("element", FLOATS)
def test_poisoned_floats_are_nan(element):
    memory = np.full(element.numpy_type.itemsize, element.poison_byte, np.uint8).view(element.numpy_type)
    assert np.isnan(unpack(memory, spec(LAYOUTS[2][0], element, (1, 1, 1, 1)))).all()
    assert memory.view(f"u{element.numpy_type.itemsize}")[0] == element.poison


def test_a_poisoned_int32_is_no_sum_of_int8_products():
    poisoned = np.full(4, Element.INT32.poison_byte, np.uint8).view(np.int32)[0]
    assert poisoned < -130_000 * 128 * 127


@given(small_problems())
def test_two_tensors_are_read_and_the_third_is_written(problem):
    assert {*operand_slots(problem), result_slot(problem)} == {Slot.INPUT, Slot.WEIGHTS, Slot.OUTPUT}
    sizes = tuple(tensor_spec(problem, slot).nbytes for slot in (Slot.INPUT, Slot.WEIGHTS, Slot.OUTPUT))
    assert sizes == problem.tensor_bytes


@given(small_problems(dtypes=[DType.INT8]))
def test_int8_convolutions_write_int32(problem):
    assert tensor_spec(problem, Slot.OUTPUT).element is Element.INT32
    assert tensor_spec(problem, Slot.INPUT).element is Element.INT8
