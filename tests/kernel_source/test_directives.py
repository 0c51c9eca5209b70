"""Headers that a compiler reads are found in the text, however the directive is written; comments and strings hide
nothing and show nothing."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.codeobject.gate import probe
from pytest_miopen_perf.codeobject.toolchain import ENVIRONMENT, find_amd_compiler
from pytest_miopen_perf.kernel_source.directives import inclusions, without_comments
from pytest_miopen_perf.kernel_source.text import kernel_texts

READ = {
    "plain": '#include "h.h"',
    "angled": "#include <h.h>",
    "import": '#import "h.h"',
    "next": '#include_next "h.h"',
    "blanks": '\t # \tinclude\t"h.h"',
    "digraph": '%:include "h.h"',
    "spliced": '#\\\ninclude "h.h"',
    "spliced within the word": '#inc\\\nlude "h.h"',
    "spliced after a blank": '#\\ \ninclude "h.h"',
    "between strings": '#define Q "/*"\n#include "h.h"\n#define R "*/"',
    "between characters": "char a = '\"'; //\n#include \"h.h\"\nchar b = '\"';",
    "after a digit separator": "int n = 1'0; /* '\n*/\n#include \"h.h\"",
    "after an exponent": 'double d = 1e+1\'0; /*\n*/\n#include "h.h"',
    "after a raw string": 'auto r = R"x(" /* )" )x";\n#include "h.h"\n// */',
    "after an escaped quote": 'auto r = "\\"/*";\n#include "h.h"\nauto s = "*/";',
    "comments within": '/* a */ # /* b */ include /* c */ "h.h" // d',
    "slashes in a name": '#include "./\\\n/h.h"',
    "slashes in an angled name": "#include <.//h.h>",
    "after a lone apostrophe": '#if 0\ndon\'t /*\n#endif\n#include "h.h"',
    "byte order mark": '\ufeff#include "h.h"',
    "in a macro's else": '#ifdef NEVER\n#else\n#include "h.h"\n#endif',
    "through another": '#include "through.h"',
}
NOT_READ = {
    "line comment": '// #include "h.h"',
    "spliced line comment": '// a \\\n#include "h.h"',
    "spliced into a blank line": '//\\\n\n#include "other.h"',
    "block comment": '/*\n#include "h.h"\n*/',
    "comment in a string in a comment": '/* " */\n/*\n#include "h.h"\n*/',
    "raw string": 'auto r = R"(\n#include "h.h"\n)";',
    "no directive": 'auto a = "#include \\"h.h\\"";',
}


@pytest.fixture
def headers(tmp_path):
    """A folder with headers; gives what the compiler of this machine, and what the text, says is read of `h.h`."""
    (tmp_path / "h.h").write_text("int of_h;\n")
    (tmp_path / "other.h").write_text("\n")
    (tmp_path / "through.h").write_text('#include "h.h"\n')
    path = tmp_path / "k.cpp"

    def look(text):
        path.write_text(f"{text}\n")
        texts = list(kernel_texts(path, (tmp_path,)))
        return _compiler_reads_h(path), "int of_h;\n" in texts

    return look


def _compiler_reads_h(path):
    command = (
        find_amd_compiler().program,
        "clang",
        "-x",
        "c++",
        "-std=c++17",
        "-w",
        "-nostdinc",
        "-M",
        "-I.",
        path.name,
    )
    done = subprocess.run(command, cwd=path.parent, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return any(word.rsplit("/")[-1] == "h.h" for word in done.stdout.split())


@pytest.mark.parametrize(
    ("text", "is_read"),
    [(text, True) for text in READ.values()] + [(text, False) for text in NOT_READ.values()],
    ids=[*READ, *NOT_READ],
)
def test_what_a_compiler_reads_is_followed_and_nothing_else(headers, text, is_read):
    if reason := probe():
        pytest.skip(reason)
    assert headers(text) == (is_read, is_read)


def test_a_header_that_is_asked_for_counts():
    text = '#if __has_include("a.h") || __has_include( <b.h> )\n#endif'
    assert [(each.name, each.is_quoted) for each in inclusions(text)] == [("a.h", True), ("b.h", False)]


@pytest.mark.parametrize(
    "directive", ["#include NAME", "#include", "%:import NAME(1)", '#embed "data"', "#embed <data>"]
)
def test_what_no_text_tells_is_kept_in_its_own_words(directive):
    (found,) = inclusions(f"int a;\n  {directive} // why\n")
    assert (found.name, found.unreadable) == ("", directive)


def test_code_is_left_as_it_is():
    code = "int a = 1'000; char c = '\\''; const char* s = \"// no /* comment\"; a /= 2; a = b / *p;"
    assert without_comments(f"{code} // gone\n/* gone */") == f"{code}  \n "


@given(st.text(st.sampled_from("/*\"'\\\n#%:R()<>ia1 "), max_size=40))
def test_no_text_is_too_odd(text):
    assert "\\\n" not in without_comments(text).replace('""', "")
    inclusions(text)


@given(comment=st.text(st.sampled_from("/\"' a#\n"), max_size=20))
def test_no_comment_shows(comment):
    assert without_comments(f"a/*{comment}*/b") == "a b"
