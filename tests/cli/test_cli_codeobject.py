"""`miopen-perf codeobject`: kernels of files and problems, with the real compiler of the wheel."""

import json

import jsonschema
import pytest
from cli.conftest import LINE

from pytest_miopen_perf.codeobject import gate
from pytest_miopen_perf.codeobject.baseline_file import load_baseline
from pytest_miopen_perf.schema import load_schema

TWO_KERNELS = """
extern "C" __global__ void __launch_bounds__(64) first(const float* x, float* y)
{
    __shared__ float tile[TILE];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void second(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
"""
SPILLING = """
extern "C" __global__ void __launch_bounds__(64) __attribute__((amdgpu_num_vgpr(24))) first(const float* x, float* y)
{
    float kept[48];
#pragma unroll
    for(int i = 0; i < 48; ++i) kept[i] = x[i * 64 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for(int i = 0; i < 48; ++i) y[threadIdx.x * 48 + i] = kept[i] * kept[(i * 7 + 3) % 48];
}
"""


@pytest.fixture
def codeobject(run, request, tmp_path, monkeypatch):
    """Carries out `miopen-perf codeobject` in an empty folder, with code objects that outlive the session."""
    if reason := gate.probe():
        pytest.skip(reason)
    cache = request.config.cache.mkdir("miopen-perf-codeobject")
    monkeypatch.chdir(tmp_path)
    return lambda *words, **how: run("codeobject", *words, "--cache", cache, **how)


@pytest.fixture
def hip(tmp_path):
    path = tmp_path / "k.hip"
    path.write_text(TWO_KERNELS)
    return path


def kernels(outcome):
    document = json.loads(outcome.out)
    jsonschema.Draft202012Validator(load_schema("codeobjects")).validate(document)
    return document["kernels"]


def test_every_kernel_of_a_file_is_told(codeobject, hip):
    outcome = codeobject(hip, "--arch", "gfx942,gfx1201", "-D", "TILE=64")
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0].split()[:5] == ["target", "VGPR", "AGPR", "SGPR", "spill"]
    assert [line for line in lines if line.startswith("  ") and "gfx" not in line] == [
        "  TILE=64 first",
        "  TILE=64 second",
    ]
    assert lines[-1] == "kernels  4 NOT_COMPARED"
    assert outcome.err == ""


def test_one_kernel_with_a_work_group_of_its_own(codeobject, hip):
    words = ("--arch", "gfx942", "-D", "TILE=64", "--entry", "second", "--json")
    (small,) = kernels(codeobject(hip, *words, "--block", "64"))
    (large,) = kernels(codeobject(hip, *words, "--block", "256", "--shared", "65536"))
    assert (small["kernel"], small["config"]) == ("second", "TILE=64 block=64")
    assert large["config"] == "TILE=64 block=256 shared=65536"
    assert large["occupancy"]["waves"] < small["occupancy"]["waves"]


def test_a_problem_names_the_kernels_of_its_solvers(codeobject):
    outcome = codeobject(LINE, "--arch", "gfx942", "--solver", "*Naive*", "--json")
    (kernel,) = kernels(outcome)
    assert (kernel["solver"], kernel["kernel"]) == ("HipConvNaiveFwd", "naive_conv_fwd")
    assert kernels(codeobject("-", "--arch", "gfx942", "--solver", "*Naive*", "--json", stdin=f"{LINE}\n")) == [kernel]


def test_a_given_config_is_for_the_solvers_that_it_suits(codeobject):
    words = (LINE.replace("-k 4", "-k 4 -g 4"), "--arch", "gfx942", "--solver", "*Depthwise*")
    (default,) = kernels(codeobject(*words, "--json"))
    assert kernels(codeobject(*words, "--json", "--config", default["config"])) == [default]
    nothing = codeobject(*words, "--config", "1,2,3,4,5,6,7,8,9,10")
    assert nothing.status == 1
    assert "no solver has a kernel" in nothing.err


def test_a_baseline_is_saved_and_judges(codeobject, hip, tmp_path):
    words = (hip, "-D", "TILE=64", "--entry", "first")
    saved = codeobject(*words, "--arch", "gfx942", "--save", "main")
    path = tmp_path / ".miopen-perf" / "main.static.json"
    assert saved.status == 0
    assert "saved 1 kernel to .miopen-perf/main.static.json" in saved.err
    same = codeobject(*words, "--compare", "main")
    assert (same.status, same.out.splitlines()[-1]) == (0, "kernels  1 PASS")
    hip.write_text(SPILLING)
    before = path.read_bytes()
    worse = codeobject(*words, "--compare", "main", "--save", "main")
    assert (worse.status, worse.out.splitlines()[-1]) == (1, "kernels  1 REGRESSION")
    assert "gfx942 first: spilled registers: 0, now " in worse.out
    assert "no baseline is saved, since there are findings" in worse.err
    assert path.read_bytes() == before
    granted = codeobject(*words, "--compare", "main", "--limits", "spills=99,scratch=4K,waves=off,code=off")
    assert granted.status == 0


def test_strictly_what_is_new_is_a_finding(codeobject, hip):
    words = (hip, "-D", "TILE=64")
    codeobject(*words, "--arch", "gfx942", "--entry", "first", "--save", "main")
    assert codeobject(*words, "--compare", "main").status == 0
    strict = codeobject(*words, "--compare", "main", "--strict")
    assert (strict.status, strict.out.splitlines()[-1]) == (1, "kernels  1 NO_BASELINE, 1 PASS")


def test_what_has_vanished_is_told_and_strictly_a_finding(codeobject, hip):
    words = (hip, "-D", "TILE=64")
    codeobject(*words, "--arch", "gfx942,gfx1201", "--save", "main")
    hip.write_text(TWO_KERNELS.replace("void second(", "void third("))
    told = "2 kernels of the baseline were not looked at, such as k.hip TILE=64 second on gfx1201"
    plain = codeobject(*words, "--compare", "main")
    assert plain.status == 0
    assert told in plain.err
    hip.write_text(TWO_KERNELS[: TWO_KERNELS.index('extern "C" __global__ void second')])
    strict = codeobject(*words, "--compare", "main", "--strict", "--save", "main")
    assert (strict.status, strict.out.splitlines()[-1]) == (1, "kernels  2 PASS")
    assert told in strict.err
    assert "no baseline is saved" in strict.err
    assert "not looked at" not in codeobject(*words, "--compare", "main", "--entry", "first").err
    one_target = codeobject(*words, "--compare", "main", "--arch", "gfx942")
    assert "1 kernel of the baseline was not looked at" in one_target.err


def test_a_file_without_a_kernel_is_a_finding_beside_others(codeobject, hip, tmp_path):
    (tmp_path / "empty.hip").touch()
    for words in (("empty.hip",), ("empty.hip", hip, "-D", "TILE=64")):
        outcome = codeobject(*words, "--arch", "gfx942")
        assert outcome.status == 1
        assert "empty.hip holds no kernel" in outcome.err
        assert "no solver" not in outcome.err


def test_a_macro_may_be_empty(codeobject, tmp_path):
    text = 'extern "C" __global__ void k(float* y) { y[0] = sizeof(#SIZE); }'
    (tmp_path / "k.hip").write_text(
        "#define TEXT(x) #x\n#define WORD(x) TEXT(x)\n" + text.replace("#SIZE", "WORD(SIZE)")
    )
    outcome = codeobject("k.hip", "--arch", "gfx942", "-D", "SIZE=", "-D", "OTHER")
    assert outcome.status == 0
    assert "  SIZE= OTHER=1 k" in outcome.out.splitlines()


def test_a_place_that_takes_no_baseline_is_told_before_anything_is_compiled(codeobject, hip, tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "open_gate", None)
    (tmp_path / "b.json").write_text("{}")
    for place, what in (("/dev/null", "is a device"), ("./", "is a folder"), ("b.json", "no code-object baseline")):
        outcome = codeobject(hip, "--save", place)
        assert outcome.status == 2
        assert what in outcome.err


def test_another_compiler_is_no_baseline_and_both_are_shown(codeobject, hip, tmp_path):
    words = (hip, "-D", "TILE=64", "--entry", "first")
    codeobject(*words, "--arch", "gfx942", "--save", "main")
    path = tmp_path / ".miopen-perf" / "main.static.json"
    (key,) = load_baseline(path)
    path.write_text(path.read_text().replace(key.compiler, "zig clang 1.0"))
    outcome = codeobject(*words, "--compare", "main")
    assert outcome.status == 0
    assert f"the baseline is of zig clang 1.0; this compiler is {key.compiler}" in outcome.out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("k.hip", "--arch", "gfx9"), "'gfx9' is no AMD GPU target"),
        (("k.hip", "--arch", "gfx900"), "known: gfx90a, gfx942, gfx950, gfx1100, gfx1201, gfx1250"),
        (("gone.hip", "--arch", "gfx942"), "gone.hip is no file; name a file of HIP text"),
        (("k.hip", "--arch", "gfx942", "-D", "TILE=64", "--block", "0"), "cannot be launched"),
        (("nothing", "--arch", "gfx942"), "'nothing' is no file, no MIOpenDriver line"),
        (("k.hip", "--compare", "main"), "there is no code-object baseline"),
        (("k.hip", "--save", "a b"), "'a b' is no name of a baseline"),
        ((LINE, "--db", "nowhere"), "--db is nowhere, which is no folder that is there"),
        (("k.hip", "--limits", "joy=1"), "--limits is 'joy=1': 'joy' is none of spills"),
        (("-", "-", "--arch", "gfx942"), "standard input can be read once"),
    ],
)
@pytest.mark.usefixtures("hip")
def test_wrong_usage_is_one_sentence(codeobject, words, what):
    outcome = codeobject(*words)
    assert outcome.status == 2
    assert what in outcome.err
    assert "Traceback" not in outcome.err


def test_without_the_extra_it_says_what_to_install(codeobject, hip, monkeypatch):
    monkeypatch.setattr(gate, "wheel_zig", lambda: None)
    outcome = codeobject(hip, "--arch", "gfx942")
    assert outcome.status == 2
    assert "pip install 'ziglang>=0.15.2' 'pyelftools" in outcome.err


def test_a_file_that_does_not_compile_is_a_finding_with_the_compilers_words(codeobject, hip):
    outcome = codeobject(hip, "--arch", "gfx942,gfx1201")
    assert outcome.status == 1
    assert outcome.out.splitlines()[-1] == "kernels  2 FAULTY"
    assert f"gfx942 (whole file): {hip} for gfx942 does not compile" in outcome.out
    assert outcome.err.startswith(f"miopen-perf: {hip} for gfx942 does not compile\n")
    assert outcome.err.count("use of undeclared identifier 'TILE'") == 1
    assert [kernel["verdict"] for kernel in kernels(codeobject(hip, "--arch", "gfx942", "--json"))] == ["FAULTY"]


def test_a_kernel_that_is_not_there_is_a_finding(codeobject, hip):
    outcome = codeobject(hip, "--arch", "gfx942", "-D", "TILE=64", "--entry", "third")
    assert outcome.status == 1
    assert "the code object holds no kernel 'third'; it holds: first, second" in outcome.out
