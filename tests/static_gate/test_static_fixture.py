"""Kernels of a user's own, asked about in a test's body."""

import pytest

from pytest_miopen_perf.codeobject.baseline_file import load_baseline


def test_figures_can_be_asked_for(run, kernel_file, kernel_test):
    kernel_file("clean")
    kernel_test(
        'found = miopen_perf_code_object("k.hip", "k", defines={"TILE": 64}, block=64)\n'
        'assert list(found) == ["gfx942", "gfx1201"]\n'
        'assert found["gfx942"].now.lds_bytes == 256\n'
        'assert found["gfx1201"].occupancy.share == 1'
    )
    result = run("--miopen-perf-static=gfx942,gfx1201")
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.fnmatch_lines(["kernels  2 NOT_COMPARED"])


def test_no_option_is_needed(run, kernel_file, kernel_test):
    kernel_file("clean")
    kernel_test('assert "gfx90a" in miopen_perf_code_object("k.hip", "k", defines={"TILE": 64})')
    assert run().parseoutcomes() == {"passed": 1}


def test_a_kernel_that_spills_fails_its_test_at_its_end(run, kernel_file, kernel_test):
    kernel_file("spilling")
    kernel_test('miopen_perf_code_object("k.hip", "k", block=64)\nprint("went on")')
    result = run("--miopen-perf-static=gfx942")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(
        ["FAULTY k.hip block=64 k on gfx942: it spills * vector registers; it keeps *", "went on"]
    )
    assert "Traceback" not in result.stdout.str()


def test_what_was_granted_passes_and_what_comes_new_fails(run, kernel_file, kernel_test):
    kernel_file("clean")
    kernel_test('miopen_perf_code_object("k.hip", "k", defines={"TILE": 64}, name="mine")')
    assert run("--miopen-perf-static=gfx942", "--miopen-perf-static-save=own").ret == 0
    kernel_file("spilling")
    result = run("--miopen-perf-static-compare=own")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["REGRESSION mine k on gfx942: spilled registers: 0, now *"])
    granted = ("--miopen-perf-static=gfx942", "--miopen-perf-static-limits=spills=99,scratch=4K,code=off")
    assert run(*granted, "--miopen-perf-static-save=own").ret == 0
    assert run("--miopen-perf-static-compare=own").ret == 0


def test_a_launch_has_its_arguments_checked(run, kernel_file, kernel_test):
    kernel_file("clean")
    kernel_test(
        "from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot\n"
        'kernel = KernelSource(file="k.hip", entry="k", defines=(("TILE", "64"),))\n'
        'args = (Pointer("x", Slot.INPUT),)\n'
        "miopen_perf_code_object(Launch(kernel=kernel, grid=(1, 1, 1), block=(64, 1, 1), args=args))"
    )
    result = run("--miopen-perf-static=gfx942")
    result.stdout.fnmatch_lines(["FAULTY *k on gfx942: k reads 2 arguments, the launch passes 1"])


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ('"gone.hip", "k"', "*gone.hip is no file; name a file of HIP text relative to the folder of the test"),
        ('"k.hip", "other", defines={"TILE": 64}', "*the code object holds no kernel 'other'; it holds: k*"),
        ('"k.hip", "k"', "*k of *k.hip for gfx942 does not compile*"),
        ('"k.hip"', "*k.hip is a file of kernels; name the one that is meant by its entry*"),
        ('"k.hip", "k", block=0', "*a work-group of 0 work-items * cannot be launched*"),
    ],
)
def test_what_cannot_be_looked_at_fails_with_a_sentence(run, kernel_file, kernel_test, call, what):
    kernel_file("clean")
    kernel_test(f"miopen_perf_code_object({call})")
    result = run("--miopen-perf-static=gfx942")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines([what])


def test_a_missing_file_is_told_once_for_all_targets_and_in_the_folder_of_the_test(run, pytester, kernel_test):
    kernel_test('miopen_perf_code_object("gone.hip", "k")')
    result = run()
    (line,) = [line for line in result.outlines if line.startswith("E ")]
    assert f"SettingsError: {pytester.path / 'gone.hip'} is no file" in line
    assert "fixture.py" not in result.stdout.str(), "the way through the plugin is shown"


def test_workers_need_no_option_either(run, kernel_file, kernel_test):
    kernel_file("clean")
    kernel_test('miopen_perf_code_object("k.hip", "k", defines={"TILE": 64})')
    result = run("-n", "1")
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.fnmatch_lines(["kernels  * NOT_COMPARED"])


def test_kernels_of_the_baseline_that_nobody_asks_about_are_told(run_all, kernel_file, kernel_test):
    kernel_file("clean")
    ask = 'miopen_perf_code_object("k.hip", "k", defines={{"TILE": {tile}}})'
    kernel_test("\n".join(ask.format(tile=tile) for tile in (64, 128)))
    run_all("--miopen-perf-static=gfx942", "--miopen-perf-static-save=own")
    kernel_test(ask.format(tile=64))
    compare = "--miopen-perf-static-compare=own"
    plain = run_all(compare)
    assert plain.ret == 0
    plain.stdout.fnmatch_lines(
        ["vanished 1 kernel of the baseline was not looked at, such as k.hip TILE=128 k on gfx942"]
    )
    assert "vanished" not in run_all(compare, "-k", "own").stdout.str()
    strict = run_all(compare, "--miopen-perf-strict")
    assert strict.ret == pytest.ExitCode.TESTS_FAILED
    strict.stdout.fnmatch_lines(["miopen-perf: 1 kernel of the baseline *, which --miopen-perf-strict does not allow"])


def test_two_kernels_of_one_name_are_told(run, kernel_file, kernel_test):
    kernel_file("clean")
    ask = 'miopen_perf_code_object("k.hip", "k", defines={{"TILE": {tile}}}, name="mine")'
    kernel_test("\n".join(ask.format(tile=tile) for tile in (64, 128)))
    result = run("--miopen-perf-static=gfx942")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["miopen-perf: two different kernels are called mine k on gfx942, one of them in test_own.py::test_own; give *"]
    )


def test_another_compiler_is_no_baseline_and_both_are_named(run, pytester, kernel_file, kernel_test):
    kernel_file("clean")
    kernel_test('miopen_perf_code_object("k.hip", "k", defines={"TILE": 64})')
    run("--miopen-perf-static=gfx942", "--miopen-perf-static-save=own")
    path = pytester.path / ".miopen-perf" / "own.static.json"
    (key,) = load_baseline(path)
    path.write_text(path.read_text().replace(key.compiler, "zig clang 1.0"))
    result = run("--miopen-perf-static-compare=own")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            f"the baseline is of zig clang 1.0; this compiler is {fnmatch_literal(key.compiler)}",
            "kernels  1 NO_BASELINE",
        ]
    )
    assert run("--miopen-perf-static-save=own", "--miopen-perf-static=gfx942").ret == 0
    assert {key.compiler for key in load_baseline(path)} == {"zig clang 1.0", key.compiler}


def fnmatch_literal(text):
    return text.replace("[", "[[]")
