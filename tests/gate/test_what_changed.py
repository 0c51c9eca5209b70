import pytest

from pytest_miopen_perf.gate.what_changed import (
    Difference,
    Execution,
    WhatChanged,
    stated_variable_differences,
    variable_differences,
    what_changed,
)
from pytest_miopen_perf.results import KernelTimes

BASE = {"solver": "ConvFast", "config": "16,16", "compile_key": "abc", "kernel_seconds": (("gemm", 2.0), ("pack", 1.0))}


@pytest.mark.parametrize(
    ("changes", "difference", "words"),
    [
        ({"solver": "ConvNaive", "config": ""}, Difference.OTHER_SOLVER, "solver ConvFast -> ConvNaive"),
        ({"config": "8,8"}, Difference.OTHER_CONFIG, "ConvFast: config 16,16 -> 8,8"),
        ({"config": ""}, Difference.OTHER_CONFIG, "config 16,16 -> -"),
        ({"kernel_seconds": (("gemm", 2.0),)}, Difference.OTHER_KERNELS, "kernels gemm, pack -> gemm"),
        ({"compile_key": "def"}, Difference.OTHER_COMPILE, "compiled differently"),
        ({"compile_key": ""}, Difference.SAME_KERNEL, "the same kernel"),
        ({"kernel_seconds": (("gemm", 2.1), ("pack", 2.0))}, Difference.SAME_KERNEL, "pack moved most, +100.0%"),
        ({}, Difference.SAME_KERNEL, "ConvFast 16,16: the same kernels"),
    ],
)
def test_the_first_difference_from_the_outside_in(changes, difference, words):
    changed = what_changed(Execution(**BASE), Execution(**BASE | changes))
    assert changed.difference is difference
    assert words in changed.sentence
    assert WhatChanged.from_json(changed.to_json()) == changed


def test_one_kernel_is_not_named_twice():
    lone = Execution(solver="ConvFast", config="", kernel_seconds=(("gemm", 2.0),))
    assert what_changed(lone, lone).sentence == "ConvFast: the same kernel"


def test_an_execution_sums_the_launches_of_one_name(make_result):
    kernels = (
        KernelTimes(name="gemm", seconds=(1.0, 2.0, 3.0)),
        KernelTimes(name="pack", seconds=(0.5, 0.5, 0.5)),
        KernelTimes(name="gemm", seconds=(10.0, 10.0, 10.0)),
    )
    execution = Execution.of([make_result(kernels=kernels)])
    assert execution.kernel_seconds == (("gemm", 12.0), ("pack", 0.5))
    assert (execution.solver, execution.config) == ("ConvFast", "16,16")


def test_variables_that_differ_are_named():
    base = [("MIOPEN_A", "1"), ("MIOPEN_B", "2"), ("HIP_C", "")]
    new = [("MIOPEN_A", "1"), ("MIOPEN_B", "3"), ("ROCR_D", "x")]
    assert variable_differences(base, new) == (
        "HIP_C '' -> unset",
        "MIOPEN_B '2' -> '3'",
        "ROCR_D unset -> 'x'",
    )
    assert variable_differences(base, base) == ()


def test_of_two_logs_only_what_both_state_can_differ():
    base = [("MIOPEN_A", "1"), ("MIOPEN_B", "2")]
    assert stated_variable_differences(base, []) == ()
    assert stated_variable_differences([], base) == ()
    assert stated_variable_differences(base, [("MIOPEN_B", "3"), ("MIOPEN_C", "4")]) == ("MIOPEN_B '2' -> '3'",)
