"""Arguments packed by us against what a C compiler's layout and hip-python itself make of them; needs no library."""

from __future__ import annotations

import ctypes
import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.devices.hip import PackedArguments
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.launch import Scalar

C_TYPES = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double}
SCALARS = st.one_of(
    st.builds(Scalar, st.just("a"), st.just("i32"), st.integers(-(2**31), 2**31 - 1)),
    st.builds(Scalar, st.just("a"), st.just("i64"), st.integers(-(2**63), 2**63 - 1)),
    st.builds(Scalar, st.just("a"), st.just("f32"), st.floats(width=32)),
    st.builds(Scalar, st.just("a"), st.just("f64"), st.floats()),
)
POINTERS = st.tuples(st.integers(0, 2**62), st.integers(0, 2**32))
ARGUMENTS = st.lists(SCALARS | POINTERS, max_size=40)


def buffer_of(extra):
    """The argument buffer that a launch configuration at an address names; 1, 2 and 3 mark buffer, size and end."""
    begin, buffer, size_mark, size, end = (word or 0 for word in (ctypes.c_void_p * 5).from_address(extra))
    assert (begin, size_mark, end) == (1, 2, 3)
    return ctypes.string_at(buffer, ctypes.c_size_t.from_address(size).value)


def as_c(arg):
    return C_TYPES[arg.type](arg.value) if isinstance(arg, Scalar) else ctypes.c_void_p(sum(arg))


def fields_of(args):
    """Where a C compiler puts each argument: offset and bytes."""
    values = [as_c(arg) for arg in args]

    class Packed(ctypes.Structure):
        _fields_ = [(f"a{number}", type(value)) for number, value in enumerate(values)]

    return [(getattr(Packed, f"a{number}").offset, bytes(value)) for number, value in enumerate(values)]


def assert_holds(buffer, fields):
    """What lies between two fields is nobody's."""
    assert len(buffer) == max((offset + len(value) for offset, value in fields), default=0)
    assert [buffer[offset : offset + len(value)] for offset, value in fields] == [value for _, value in fields]


@given(args=ARGUMENTS)
def test_arguments_lie_where_a_c_structure_has_them(args):
    packed = PackedArguments(args)
    assert_holds(buffer_of(packed.extra.value), fields_of(args))


@given(args=ARGUMENTS)
def test_hip_python_packs_a_tuple_alike(hip_python_packing, args):
    theirs = hip_python_packing.fromObj(tuple(as_c(arg) for arg in args))
    assert_holds(buffer_of(int(theirs)), fields_of(args))


@pytest.fixture(scope="module")
def hip_python_packing():
    """The class that hip-python converts `extra` with; where it lies differs between the generations."""
    for name in ("rocm.bindings._hip_helpers", "hip._hip_helpers"):
        try:
            return importlib.import_module(name).HipModuleLaunchKernel_extra
        except ImportError:
            continue
    pytest.skip("hip-python is not installed")


@pytest.mark.parametrize(
    "scalar",
    [
        Scalar("n", "i32", 2**31),
        Scalar("n", "i32", -(2**31) - 1),
        Scalar("n", "i64", 2**63),
        Scalar("x", "f64", 10**400),
        Scalar("n", "i32", 0.5),
    ],
)
def test_a_value_that_does_not_fit_its_type_is_refused(scalar):
    with pytest.raises(LaunchError, match="do not fit"):
        PackedArguments([(4096, 0), scalar])
