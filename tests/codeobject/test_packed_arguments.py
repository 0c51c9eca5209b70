"""L2, arguments as we pack them: where `ctypes` puts them, and where the kernels of real solutions read them."""

import ctypes
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES, planned_device
from pytest_miopen_perf.codeobject.arguments import argument_faults, block_faults, packed_arguments
from pytest_miopen_perf.codeobject.metadata import KernelArgument, kernel_resources
from pytest_miopen_perf.launch import Pointer, Scalar, Slot
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import naive

C_TYPES = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double}


@given(kinds=st.lists(st.sampled_from([*C_TYPES, "pointer"]), max_size=40))
def test_arguments_lie_where_a_c_structure_has_them(kinds):
    args = [
        Pointer(f"a{index}", Slot.INPUT) if kind == "pointer" else Scalar(f"a{index}", kind, 1)
        for index, kind in enumerate(kinds)
    ]

    class Packed(ctypes.Structure):
        _fields_ = [(arg.name, C_TYPES.get(kind, ctypes.c_void_p)) for arg, kind in zip(args, kinds, strict=True)]

    packed = packed_arguments(args)
    assert [argument.offset for argument in packed] == [getattr(Packed, arg.name).offset for arg in args]
    assert [argument.size for argument in packed] == [getattr(Packed, arg.name).size for arg in args]
    assert [argument.kind == "global_buffer" for argument in packed] == [kind == "pointer" for kind in kinds]


@pytest.fixture(scope="module", params=["F", "B", "W"])
def launch(request):
    letters = {"F": 1, "B": 2, "W": 4}
    (problem,) = ConvProblem.from_driver(f"conv -n 2 -c 4 -H 5 -W 6 -k 8 -y 3 -x 3 -F {letters[request.param]}")
    info = planned_device("gfx942")
    solver = next(solver for solver in naive.SOLVERS if solver.refusal(problem, info) is None)
    (launch,) = solver.solution(problem, info, solver.default_config(problem, info)).launches
    return launch


@pytest.fixture(scope="module")
def resources(builder, launch):
    return kernel_resources(builder.build(launch.kernel, "gfx942"), launch.kernel.entry)


def faults(launch, resources):
    return [*argument_faults(launch.args, resources), *block_faults(math.prod(launch.block), resources)]


def test_the_kernel_reads_what_the_launch_passes(launch, resources):
    assert len(launch.args) == 40
    assert faults(launch, resources) == []


def test_a_missing_argument_is_counted(launch, resources):
    (sentence,) = faults(replace(launch, args=launch.args[:-1]), resources)
    assert sentence == f"{resources.name} reads 40 arguments, the launch passes 39"


def test_a_further_argument_is_counted(launch, resources):
    (sentence,) = faults(replace(launch, args=(*launch.args, Scalar("more", "i32", 1))), resources)
    assert sentence.endswith("reads 40 arguments, the launch passes 41")


@pytest.mark.parametrize("index", [0, 3, 4, 24, 25, 38])
def test_a_wrong_type_is_found_and_named(launch, resources, index):
    """A size that is wrong moves what follows, so the first sentence names the culprit."""
    arg = launch.args[index]
    wrong = Pointer(arg.name, Slot.INPUT)
    if isinstance(arg, Pointer) or arg.type == "i64":
        wrong = Scalar(arg.name, "i32", 1)
    args = (*launch.args[:index], wrong, *launch.args[index + 1 :])
    first, *_ = faults(replace(launch, args=args), resources)
    assert first.startswith(f"argument {index} ({arg.name}) of {resources.name} is passed as")


def test_a_pointer_passed_by_value_is_told(launch, resources):
    args = (Scalar("x", "i64", 0), *launch.args[1:])
    (sentence,) = faults(replace(launch, args=args), resources)
    assert sentence == (
        f"argument 0 (x) of {resources.name} is passed as a value of 8 bytes at offset 0, "
        "and the kernel reads a pointer of 8 bytes at offset 0"
    )


def test_swapped_arguments_of_two_sizes_are_found(launch, resources):
    assert (launch.args[24].type, launch.args[25].type) == ("i32", "i64")
    args = [*launch.args]
    args[24], args[25] = args[25], args[24]
    assert len(faults(replace(launch, args=tuple(args)), resources)) >= 2


def test_a_block_larger_than_the_kernel_was_compiled_for_is_told(launch, resources):
    (sentence,) = faults(replace(launch, block=(32, 32, 1)), resources)
    assert "work-groups of 1024 work-items" in sentence
    assert "compiled for 256 at most" in sentence


def test_another_kind_keeps_the_compilers_word(make_row):
    row = make_row(
        args=(
            KernelArgument(offset=0, size=8, kind="global_buffer"),
            KernelArgument(offset=8, size=4, kind="dynamic_shared_pointer"),
        )
    )
    (sentence,) = argument_faults(row.case.args, row.outcome.resources)
    assert sentence.endswith("the kernel reads dynamic_shared_pointer of 4 bytes at offset 8")


@pytest.mark.parametrize("layer", ["L2: count, offset, size and kind of packed arguments"])
@pytest.mark.parametrize("target", ARCHITECTURES)
def test_arguments_lie_the_same_on_every_target(builder, launch, target, layer):
    if reason := builder.refusal(target):
        pytest.skip(reason)
    read = kernel_resources(builder.build(launch.kernel, target), launch.kernel.entry).args
    assert tuple(argument for argument in read if not argument.is_hidden) == packed_arguments(launch.args)
