"""Parameters from kernel text, with no compiler."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.devices.signature import Parameter, mismatch, read_signature
from pytest_miopen_perf.kernel_source.files import kernel_path, kernels_dir
from pytest_miopen_perf.launch import KernelSource, Scalar
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers

HEAD = 'extern "C" __global__ void '


@pytest.fixture
def read(tmp_path):
    def read_text(text, entry="entry", **defines):
        path = tmp_path / "kernel.hip"
        path.write_text(text)
        source = KernelSource(file=str(path), entry=entry, defines=tuple(defines.items()))
        parameters = read_signature(path, source)
        return None if parameters is None else [(parameter.name, parameter.type) for parameter in parameters]

    return read_text


def test_every_type_is_told(read):
    text = f"""{HEAD}__launch_bounds__(64) entry(
        const float* __restrict__ a, float *b, const int c, unsigned int d, long long e, size_t f, float g, double h,
        std::int64_t i, some_struct j) {{ }}"""
    assert read(text) == [
        ("a", "pointer"),
        ("b", "pointer"),
        ("c", "i32"),
        ("d", "i32"),
        ("e", "i64"),
        ("f", "i64"),
        ("g", "f32"),
        ("h", "f64"),
        ("i", "i64"),
        ("j", "unknown"),
    ]


@pytest.mark.parametrize("inner", ["", " ", "void", "\n"])
def test_no_parameters(read, inner):
    assert read(f"{HEAD}entry({inner}) {{}}") == []


def test_comments_are_no_code(read):
    old = f"// {HEAD}entry(int old)\n/* {HEAD}entry(int\nolder) */\n"
    assert read(f"{old}{HEAD}entry(int a /* , int b */, // , int c\nint d) {{}}") == [("a", "i32"), ("d", "i32")]


def test_macros_of_the_file_and_of_the_command_line(read):
    text = f"#define SIZES int n, \\\n    INDEX m\n#define INDEX long\n{HEAD}NAME(T* x, SIZES, U u) {{}}"
    assert read(text, NAME="entry", U="double") == [("x", "pointer"), ("n", "i32"), ("m", "i64"), ("u", "f64")]


def test_typedefs_and_headers(read, tmp_path):
    (tmp_path / "index.h").write_text('#include "word.h"\n#include "index.h"\ntypedef word_t index_t;\n')
    (tmp_path / "word.h").write_text("typedef unsigned long long word_t;\n")
    assert read(f'#include "index.h"\n#include "missing.h"\n{HEAD}entry(const index_t i) {{}}') == [("i", "i64")]


def test_headers_of_the_project_are_found(read):
    assert read(f'#include "index.h"\n{HEAD}entry(index_t i) {{}}') == [("i", "i64")]


@pytest.mark.parametrize(
    "text",
    ["", "void entry(int a) {}", f"{HEAD}other(int a) {{ entry(a); }}", f"{HEAD}entry_2(int a) {{}}", "__global__"],
)
def test_a_text_without_the_entry(read, text):
    assert read(text) is None


def test_macros_that_never_end_do_not_hang(read):
    assert read(f"#define A B A\n#define B A B\n{HEAD}entry(int a) {{}}") == [("a", "i32")]


def test_text_that_ends_early(read):
    assert read(f"{HEAD}entry(int a, float b") == [("a", "i32"), ("b", "f32")]


def test_a_file_that_is_missing_or_no_text(tmp_path):
    source = KernelSource(file="kernel.hip", entry="entry")
    with pytest.raises(FileNotFoundError):
        read_signature(tmp_path / "missing.hip", source)
    (tmp_path / "binary.hip").write_bytes(b"\xff\xfe")
    with pytest.raises(UnicodeDecodeError):
        read_signature(tmp_path / "binary.hip", source)


def test_texts_and_macros_may_change_between_two_readings(read, tmp_path):
    header, text = tmp_path / "word.h", f'#include "word.h"\n{HEAD}entry(const WORD n) {{}}'
    header.write_text("#define WORD INNER\n#define INNER int\n")
    assert read(text) == [("n", "i32")]
    assert read(text, INNER="float") == [("n", "f32")]
    header.write_text("#define WORD INNER\n#define INNER double\n")
    assert read(text) == [("n", "f64")]
    assert read(text, UNUSED="1") == [("n", "f64")]


def test_mismatches_are_told_in_words():
    parameters = (Parameter("y", "pointer"), Parameter("n", "i32"), Parameter("s", "unknown"))
    pointer, integer = DevicePointer(None), Scalar("n", "i32", 1)
    assert mismatch(parameters, (pointer, integer, integer)) == ""
    assert mismatch(parameters, (pointer, integer, pointer)) == ""
    assert mismatch(parameters, (pointer, integer)) == "2 arguments were given where 3 belong"
    assert mismatch(parameters, (integer, integer, integer)) == "argument 0 (y) is i32 where pointer belongs"
    assert mismatch(parameters, (pointer, Scalar("n", "f32", 1), integer)) == "argument 1 (n) is f32 where i32 belongs"


LINES = (
    "conv -n 2 -c 4 -H 8 -W 8 -k 4 -y 3 -x 3 -p 1 -q 1 -F 0",
    "conv -n 2 -c 4 -H 8 -W 8 -k 4 -y 1 -x 1 -F 0",
    "conv -n 2 -c 4 -H 8 -W 8 -k 4 -y 3 -x 3 -g 4 -F 0",
    "convfp16 -n 2 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 --in_layout NHWC --fil_layout NHWC --out_layout NHWC -F 0",
)


def test_the_kernels_of_the_project_fit_their_solvers():
    """Names too: a launch passes what the kernel calls by that name."""
    from pytest_miopen_perf.devices.script import Script
    from pytest_miopen_perf.devices.scripted import ScriptedDevice

    info = replace(ScriptedDevice(Script()).info, arch="gfx942")  # of a device with matrix cores
    seen = set()
    for problem in (problem for line in LINES for problem in ConvProblem.from_driver(line)):
        for solver in (solver for solver in builtin_solvers() if solver.refusal(problem, info) is None):
            for launch in solver.solution(problem, info, solver.default_config(problem, info)).launches:
                parameters = read_signature(kernel_path(launch.kernel.file), launch.kernel)
                assert [parameter.name for parameter in parameters] == [arg.name for arg in launch.args]
                assert "unknown" not in {parameter.type for parameter in parameters}
                seen.add(launch.kernel.file)
    assert seen == {path.name for path in kernels_dir().glob("*.hip")}
