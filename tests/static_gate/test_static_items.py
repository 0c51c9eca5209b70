"""A kernel, a config and a target are a test: its id, what fails it, and what selects it."""

import json
from dataclasses import replace

import jsonschema
import pytest
from static_gate.conftest import LINE, NAIVE, PROBLEM

from pytest_miopen_perf.codeobject.baseline_file import load_baseline, save_baseline
from pytest_miopen_perf.schema import load_schema


def baseline(pytester, name="main"):
    return pytester.path / ".miopen-perf" / f"{name}.static.json"


def save(run, name="main", target="gfx942"):
    run(f"--miopen-perf-static={target}", f"--miopen-perf-static-save={name}", "-m", "miopen_perf_static")


def falsify(path, **figures):
    """Let a baseline say that kernels took something else."""
    save_baseline(path, {key: replace(kept, **figures) for key, kept in load_baseline(path).items()})


def test_kernels_stand_beside_the_function_they_belong_to(run, convolution_test):
    convolution_test()
    result = run("--collect-only", "-q", "--miopen-perf-static=gfx942,gfx1201")
    assert [line for line in result.outlines if "::" in line] == [
        f"test_conv.py::test_conv[{PROBLEM}]",
        f"test_conv.py::test_conv[static-gfx942-{PROBLEM}-{NAIVE}]",
        f"test_conv.py::test_conv[static-gfx1201-{PROBLEM}-{NAIVE}]",
    ]


def test_all_is_every_architecture_that_is_known(run, convolution_test):
    convolution_test()
    lines = run("--collect-only", "-q", "--miopen-perf-static=all").outlines
    targets = [line.split("-")[1] for line in lines if "[static-" in line]
    assert targets == ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"]


def test_without_the_option_there_is_none(run, convolution_test):
    convolution_test()
    assert not any("static" in line for line in run("--collect-only", "-q").outlines)


def test_the_ini_file_can_ask_for_them(run, pytester, convolution_test):
    convolution_test()
    pytester.makeini("[pytest]\nmiopen_perf_static = gfx942\n")
    assert any("[static-gfx942" in line for line in run("--collect-only", "-q").outlines)


def test_they_run_beside_the_others_or_alone(run, convolution_test):
    convolution_test()
    assert run("--miopen-perf-static=gfx942").parseoutcomes() == {"passed": 2}
    alone = run("--miopen-perf-static=gfx942", "-m", "miopen_perf_static", "-W", "error")
    assert alone.parseoutcomes() == {"passed": 1, "deselected": 1}
    alone.stdout.fnmatch_lines(
        [
            "miopen-perf: static gate for gfx942",
            "*= miopen-perf static =*",
            "compiler zig clang *; no GPU was used",
            "kernels  1 NOT_COMPARED",
            "hidden   1 of them; --miopen-perf-level=1 shows all",
        ]
    )


def test_the_table_shows_every_kernel_from_level_1_on(run, convolution_test):
    convolution_test()
    result = run("--miopen-perf-static=gfx942", "--miopen-perf-level=1", "-m", "miopen_perf_static")
    result.stdout.fnmatch_lines(
        ["target*VGPR AGPR SGPR spill LDS scratch kernarg code waves by*verdict", PROBLEM, "  HipConvNaiveFwd *"]
    )
    (row,) = [line for line in result.outlines if line.startswith("    gfx942")]
    assert "/8" in row


def test_a_kernel_that_is_worse_than_its_baseline_fails_as_a_test(run, pytester, convolution_test):
    convolution_test()
    save(run)
    assert run("--miopen-perf-static-compare=main", "-m", "miopen_perf_static").ret == 0
    falsify(baseline(pytester), waves=32, lds_bytes=0, vgprs=8)
    result = run("--miopen-perf-static-compare=main", "--junit-xml=junit.xml", "-m", "miopen_perf_static")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes() == {"failed": 1, "deselected": 1}
    (row,) = [line for line in result.outlines if line.startswith("    gfx942")]
    assert "8>" in row
    assert row.endswith("REGRESSION")
    result.stdout.fnmatch_lines(
        [
            f"REGRESSION {PROBLEM} HipConvNaiveFwd naive_conv_fwd on gfx942: waves on 4 SIMDs: 32, now * (limit 0 *)",
            "reproduce: pytest *--miopen-perf-static=gfx942 --miopen-perf-static-compare=main*",
            "gfx942 naive_conv_fwd: waves on 4 SIMDs: 32, now *",
            "kernels  1 REGRESSION",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    report = (pytester.path / "junit.xml").read_text()
    assert "miopen_perf_static_vgprs" in report
    assert 'failures="1"' in report


def test_its_command_reproduces_it(run, pytester, convolution_test):
    convolution_test()
    save(run)
    falsify(baseline(pytester), waves=32)
    nodeid = f"test_conv.py::test_conv[static-gfx942-{PROBLEM}-{NAIVE}]"
    result = run(nodeid, "--miopen-perf-static=gfx942", "--miopen-perf-static-compare=main")
    assert result.parseoutcomes() == {"failed": 1}
    assert any(f"'{nodeid}'" in line for line in result.outlines if line.startswith("reproduce:"))


def test_limits_decide(run, pytester, convolution_test):
    convolution_test()
    save(run)
    falsify(baseline(pytester), waves=32)
    options = ("--miopen-perf-static-compare=main", "-m", "miopen_perf_static")
    assert run(*options, "--miopen-perf-static-limits=waves=0").ret == pytest.ExitCode.TESTS_FAILED
    assert run(*options, "--miopen-perf-static-limits=waves=31").ret == 0
    pytester.makeini("[pytest]\nmiopen_perf_static_limits = waves=off\n")
    assert run(*options).ret == 0


def test_failed_ones_run_again_with_lf_and_stop_with_x(run, pytester, convolution_test):
    convolution_test(LINE, LINE.replace("-n 1", "-n 2"))
    save(run)
    falsify(baseline(pytester), waves=32)
    options = ("--miopen-perf-static-compare=main",)
    first = run(*options, "-x")
    assert first.parseoutcomes() == {"passed": 2, "failed": 1}
    assert run(*options).parseoutcomes() == {"passed": 2, "failed": 2}
    again = run(*options, "--lf")
    assert again.parseoutcomes()["failed"] == 2
    assert "passed" not in again.parseoutcomes()


def test_names_and_marks_of_the_function_select_them_its_fate_does_not(run, convolution_test):
    convolution_test(marks="@pytest.mark.slow\n            @pytest.mark.skipif(True, reason='no GPU')")
    options = ("--miopen-perf-static=gfx942", "-W", "ignore::pytest.PytestUnknownMarkWarning")
    assert run(*options).parseoutcomes() == {"passed": 1, "skipped": 1}
    assert run(*options, "-m", "not slow").parseoutcomes() == {"deselected": 2}
    assert run(*options, "-k", "gfx942").parseoutcomes() == {"passed": 1, "deselected": 1}


def test_a_named_solver_is_the_only_one(run, convolution_test):
    convolution_test(fixtures="miopen_perf, conv_problem, conv_solver", body="miopen_perf(conv_problem, conv_solver)")
    lines = [line for line in run("--collect-only", "-q", "--miopen-perf-static=gfx942").outlines if "::" in line]
    assert lines[1:] == [f"test_conv.py::test_conv[static-gfx942-{PROBLEM}-{NAIVE}]"]


def test_a_line_of_a_workload_file_has_kernels_too(run, pytester):
    pytester.path.joinpath("net.miopen.txt").write_text(f"{LINE}\n{LINE}\n# nothing\n")
    result = run("net.miopen.txt", "--miopen-perf-static=gfx942", "-v")
    assert result.parseoutcomes() == {"passed": 4}
    result.stdout.fnmatch_lines(
        [
            f"net.miopen.txt::{PROBLEM}[[]static-gfx942-{NAIVE}[]] PASSED*",
            f"net.miopen.txt::{PROBLEM}@line2[[]static-gfx942-{NAIVE}[]] PASSED*",
        ]
    )


def test_workers_send_what_they_found(run, pytester, convolution_test):
    convolution_test()
    result = run("--miopen-perf-static=gfx942,gfx90a", "--miopen-perf-static-save=main", "-n", "2")
    assert result.parseoutcomes() == {"passed": 3}
    assert {key.target for key in load_baseline(baseline(pytester))} == {"gfx942", "gfx90a"}
    result.stdout.fnmatch_lines(["kernels  2 NOT_COMPARED", "saved    2 kernels to *"])


def test_the_report_is_a_file_with_a_schema(run, pytester, convolution_test):
    convolution_test()
    run("--miopen-perf-static=gfx942", "--miopen-perf-static-json=static.json", "-m", "miopen_perf_static")
    document = json.loads((pytester.path / "static.json").read_text())
    jsonschema.Draft202012Validator(load_schema("codeobjects")).validate(document)
    (kernel,) = document["kernels"]
    assert (kernel["target"], kernel["problem"], kernel["verdict"]) == ("gfx942", PROBLEM, "NOT_COMPARED")
    assert document["complete"]


def test_a_report_that_cannot_be_written_is_told_and_fails_the_session(run, pytester, convolution_test):
    convolution_test()
    pytester.makeconftest("def pytest_collection_finish(): import shutil; shutil.rmtree('out')")
    (pytester.path / "out").mkdir()
    result = run("--miopen-perf-static=gfx942", "--miopen-perf-static-json=out/static.json", "-m", "miopen_perf_static")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["miopen-perf: the report *static.json could not be written: *; give another *"])


def test_strict_fails_what_the_baseline_does_not_hold(run, convolution_test):
    convolution_test()
    save(run)
    convolution_test(LINE, LINE.replace("-n 1", "-n 2"))
    options = ("--miopen-perf-static-compare=main", "-m", "miopen_perf_static")
    plain = run(*options)
    assert plain.ret == 0
    plain.stdout.fnmatch_lines(["kernels  1 NO_BASELINE, 1 PASS"])
    strict = run(*options, "--miopen-perf-strict")
    assert strict.parseoutcomes() == {"passed": 1, "failed": 1, "deselected": 2}


@pytest.mark.parametrize("interruption", ["raise KeyboardInterrupt", "assert False"])
def test_a_session_that_did_not_end_well_leaves_the_baseline_as_it_was(run, pytester, convolution_test, interruption):
    convolution_test()
    save(run)
    before = baseline(pytester).read_bytes()
    pytester.makepyfile(test_late=f"def test_late(): {interruption}")
    result = run(
        "--miopen-perf-static=gfx942,gfx90a",
        "--miopen-perf-static-save=main",
        "--miopen-perf-static-json=static.json",
        no_reraise_ctrlc=True,
    )
    assert result.ret in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.TESTS_FAILED)
    result.stdout.fnmatch_lines(["miopen-perf: no code-object baseline is saved, since the session *; * is as it was"])
    assert baseline(pytester).read_bytes() == before
    document = json.loads((pytester.path / "static.json").read_text())
    assert len(document["kernels"]) == 2
    assert document["complete"] is (interruption == "assert False")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "there is no code-object baseline *main.static.json; make it with --miopen-perf-static-save*"),
        (
            "{",
            "the code-object baseline *main.static.json is damaged: line 1: *--miopen-perf-static-save*",
        ),
        ('{"format": "pytest-miopen-perf code-object baseline", "version": 9}', "*has format version 9*"),
    ],
)
def test_a_wrong_baseline_is_one_sentence(run, pytester, convolution_test, content, what):
    convolution_test()
    if content is not None:
        baseline(pytester).parent.mkdir()
        baseline(pytester).write_text(content)
    result = run("--miopen-perf-static-compare=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {what}"])
    assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize(
    ("argument", "what"),
    [
        ("--miopen-perf-static=gfx9", "'gfx9' is no AMD GPU target; *known: gfx90a, gfx942, gfx950, gfx1100, gfx1201*"),
        ("--miopen-perf-static=gfx900", "what a compute unit of 'gfx900' offers is not known here; known: gfx90a,*"),
        ("--miopen-perf-static=", "'' is no AMD GPU target*"),
        ("--miopen-perf-static-limits=joy=1", "'joy' is none of spills, scratch, waves, lds, code*"),
        ("--miopen-perf-static-configs=some", "give one of known, all"),
        ("--miopen-perf-static-save=a b", "'a b' is no name of a baseline*"),
        ("--miopen-perf-static-save=/dev/null", "/dev/null is a device or a pipe, which keeps no baseline;*"),
    ],
)
def test_wrong_options_are_told_at_once(run, convolution_test, argument, what):
    convolution_test()
    result = run(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{what}"])


@pytest.mark.parametrize("absent", ["ziglang", "msgpack"])
def test_without_the_extra_they_are_skipped_and_say_what_to_install(run, convolution_test, monkeypatch, absent):
    import importlib.util

    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == absent else find_spec(name, *rest)
    )
    convolution_test()
    options = ("--miopen-perf-static=gfx942", "--miopen-perf-static-save=main", "-m", "miopen_perf_static", "-rs")
    result = run(*options)
    assert result.parseoutcomes() == {"skipped": 1, "deselected": 1}
    result.stdout.fnmatch_lines([f"SKIPPED*pip install *'{absent}>=*"])
    result.stdout.fnmatch_lines(["miopen-perf: no code-object baseline is saved, since no kernel was looked at; *"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_collecting_starts_no_process(run, pytester, convolution_test):
    pytester.makeconftest(
        """
        import os, subprocess

        def refuse(*arguments, **named):
            raise AssertionError("a process was started")

        subprocess.Popen = os.fork = os.posix_spawn = refuse
        """
    )
    convolution_test()
    result = pytester.runpytest_subprocess("--collect-only", "-q", "--miopen-perf-static=gfx942")
    assert result.ret == 0
    assert sum("[static-gfx942-" in line for line in result.outlines) > 5


def test_processes_that_measure_for_a_comparison_judge_no_kernel(run, pytester, convolution_test, monkeypatch):
    convolution_test(fixtures="conv_problem", body="pass")
    part = pytester.path / "part.json"
    monkeypatch.setattr("pytest_miopen_perf.ab.part.read_part", lambda path: EveryTest())
    part.write_text("{}")
    result = run("--miopen-perf-static=gfx942", "--miopen-perf-static-save=main", f"--miopen-perf-part={part}")
    assert result.parseoutcomes() == {"passed": 1}
    assert not baseline(pytester).exists()
    assert "static" not in result.stdout.str().replace("static gate for gfx942", "")


class EveryTest:
    """A part of a paired comparison that is all of the suite."""

    def arranged(self, items):
        return list(items)


def test_a_data_base_that_cannot_be_read_is_an_error_of_the_collection(run, pytester, convolution_test):
    convolution_test(LINE.replace("-k 4", "-k 4 -g 4"))
    folder = pytester.path / "db"
    (folder / "gfx942130.udb.txt").mkdir(parents=True)
    options = (f"--miopen-perf-db={folder}", "--miopen-perf-static=gfx942", "--miopen-perf-solver=HipConvDepthwise*")
    result = run("--collect-only", *options)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "gfx942130.udb.txt" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_a_data_base_that_is_only_read_and_is_not_there_is_told(run, convolution_test):
    convolution_test()
    options = ("--miopen-perf-db=nowhere", "--miopen-perf-static=gfx942", "-m", "miopen_perf_static")
    told = "the data base *nowhere was not there, and no config of it was looked at"
    plain = run(*options)
    assert plain.ret == 0
    plain.stdout.fnmatch_lines([f"missing  {told}"])
    strict = run(*options, "--miopen-perf-strict")
    assert strict.ret == pytest.ExitCode.TESTS_FAILED
    strict.stdout.fnmatch_lines([f"miopen-perf: {told}, which --miopen-perf-strict does not allow"])
    assert "was not there" not in run(*options, "--miopen-perf-tune=missing").stdout.str()
