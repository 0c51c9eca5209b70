"""Another compile has another key; the same texts in another folder have the same one."""

import shutil

import pytest

from pytest_miopen_perf.kernel_source.files import include_dirs, kernels_dir
from pytest_miopen_perf.kernel_source.identity import compile_key
from pytest_miopen_perf.launch import KernelSource

SOURCE = KernelSource(file="conv_naive.hip", entry="naive_conv_fwd", defines=(("A", "1"),), options=("-O2",))


@pytest.fixture
def copy(tmp_path):
    """A copy of the kernels, and the source in it."""
    folder = tmp_path / "kernels"
    shutil.copytree(kernels_dir(), folder)
    return folder


def moved(folder):
    return KernelSource(
        file=str(folder / SOURCE.file), entry=SOURCE.entry, defines=SOURCE.defines, options=SOURCE.options
    )


def test_the_folder_is_no_part_of_it(copy):
    assert compile_key([moved(copy)], "cc") == compile_key([SOURCE], "cc")


@pytest.mark.parametrize("changed", ["entry", "defines", "options"])
def test_what_the_compiler_is_told_is(changed):
    other = {"entry": "naive_conv_bwd", "defines": (("A", "2"),), "options": ("-O3",)}
    fields = {"file": SOURCE.file, "entry": SOURCE.entry, "defines": SOURCE.defines, "options": SOURCE.options}
    assert compile_key([KernelSource(**{**fields, changed: other[changed]})], "cc") != compile_key([SOURCE], "cc")


def test_the_compiler_and_the_number_of_kernels_are():
    keys = {compile_key([SOURCE], "cc"), compile_key([SOURCE], "cc 2"), compile_key([], "cc")}
    assert len(keys) == 3


def test_a_header_of_the_copy_counts(copy):
    header = next(path for path in (copy / "include").iterdir() if f'"{path.name}"' in (copy / SOURCE.file).read_text())
    before = compile_key([moved(copy)], "cc")
    header.write_text(header.read_text() + "// changed\n")
    assert compile_key([moved(copy)], "cc") != before


def test_a_lone_kernel_file_finds_the_shipped_headers(tmp_path):
    assert include_dirs(tmp_path / "own.hip") == (tmp_path, kernels_dir() / "include")
