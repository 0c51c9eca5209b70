"""What a binary depends on: every file that is read for it, by text or by option, each once."""

import pytest

from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.kernel_source.identity import compile_key
from pytest_miopen_perf.kernel_source.text import kernel_texts
from pytest_miopen_perf.launch import KernelSource


@pytest.fixture
def write(tmp_path):
    def to_file(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return to_file


@pytest.mark.parametrize("option", ["-I", "-isystem", "-iquote", "-idirafter"])
@pytest.mark.parametrize("is_apart", [True, False], ids=["two words", "one word"])
def test_a_header_in_a_folder_of_an_option_counts(write, option, is_apart):
    header = write("inc/h.h", "#define N 1\n")
    kernel = write("k.hip", '#include "h.h"\n')
    place = str(header.parent)
    options = ("-O2", option, place) if is_apart else ("-O2", option + place)
    source = KernelSource(file=str(kernel), entry="k", options=options)
    before = compile_key([source], "cc")
    header.write_text("#define N 2\n")
    assert compile_key([source], "cc") != before


@pytest.mark.parametrize("option", ["-include", "-imacros"])
def test_a_file_that_an_option_includes_counts_with_what_it_includes(write, option):
    first = write("inc/first.h", '#include "second.h"\n')
    second = write("inc/second.h", "1")
    kernel = write("k.hip", "2")
    for options in ((option, str(first)), (f"{option}{first}",)):
        assert list(kernel_texts(kernel, (), options)) == [first.read_text(), "2", second.read_text()]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("-Iinc",), "'-Iinc' names 'inc', which is no absolute path"),
        (("-I",), "'-I' names '', which is no absolute path"),
        (("-include", "h.h"), "'-include' names 'h.h', which is no absolute path"),
        (("-include-pch", "/a.pch"), "names '-pch'"),
        (("-Xclang", "-include"), "'-Xclang' may read files that the compile cache cannot follow"),
        (("--include-directory=/a",), "may read files"),
        (("-Wp,-I/a",), "may read files"),
        (("@/a/options",), "may read files"),
        (("-cxx-isystem", "/a"), "may read files"),
        (("-fprofile-instr-use=/a",), "may read files"),
    ],
)
def test_an_option_that_cannot_be_followed_is_refused(write, options, what):
    with pytest.raises(CompileError, match=what):
        list(kernel_texts(write("k.hip", ""), (), options))


def test_other_options_are_none_of_this(write):
    options = (
        "-O3",
        "-ffast-math",
        "-fprofile-arcs",
        "-mllvm",
        "-isel-something",
        "-Wall",
        "-DX=-I",
        "--offload-arch=a",
    )
    assert list(kernel_texts(write("k.hip", "1"), (), options)) == ["1"]


def test_a_file_is_read_once_by_whatever_name(write, tmp_path):
    write("a/h.h", '#include "../a/h.h"\n#include "h.h"\n#include "../a/../a/h.h"\n')
    assert len(list(kernel_texts(write("k.hip", '#include "a/h.h"\n'), (tmp_path,)))) == 2


def test_a_link_is_looked_at_with_the_neighbours_that_it_has(write, tmp_path):
    write("a/h.h", '#include "n.h"\n')
    write("a/n.h", "of a")
    write("b/n.h", "of b")
    (tmp_path / "b/h.h").symlink_to(tmp_path / "a/h.h")
    kernel = write("k.hip", '#include "a/h.h"\n#include "b/h.h"\n')
    assert {"of a", "of b"} <= set(kernel_texts(kernel, ()))


def test_of_two_headers_of_one_name_both_count(write, tmp_path):
    write("a/h.h", "of a")
    write("b/h.h", "of b")
    kernel = write("k.hip", "#include <h.h>\n")
    assert set(kernel_texts(kernel, (tmp_path / "a", tmp_path / "b"))) == {kernel.read_text(), "of a", "of b"}


@pytest.mark.parametrize("name", ["nowhere.h", "x" * 300, "a\0b", "hip/hip_runtime.h"])
def test_a_header_that_is_nowhere_is_the_compilers_own(write, tmp_path, name):
    kernel = write("k.hip", f'#include "{name}"\n')
    assert len(list(kernel_texts(kernel, (tmp_path,)))) == 1


def test_what_cannot_be_followed_is_one_sentence_with_the_file(write):
    kernel = write("k.hip", "#define H <h.h>\n#include H\n")
    with pytest.raises(CompileError, match=r"k\.hip has '#include H', which the compile cache cannot follow"):
        list(kernel_texts(kernel, ()))


@pytest.mark.parametrize("content", [b"\xff", None])
def test_a_text_that_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "k.hip"
    if content is None:
        path.symlink_to(path)
    else:
        path.write_bytes(content)
    with pytest.raises(CompileError, match=r"cannot read the kernel text .*k\.hip"):
        list(kernel_texts(path, ()))
