"""Baselines and verdicts through the whole plugin, on the scripted device: a session is a session of one device."""

import json
import shutil

import jsonschema
import pytest

from pytest_miopen_perf.gate.baseline_file import load_baseline
from pytest_miopen_perf.gate.report import VerdictReport
from pytest_miopen_perf.schema import load_schema

FIRST = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
SECOND = FIRST.replace("-c 4", "-c 8")
NAIVE = "solvers=['HipConvNaiveFwd']"


@pytest.fixture
def gate(pytester, script, run):
    """Run a session of the device whose kernels take `factor` of their time."""

    def make(*arguments, factor=1.0, session=0, noise=0.003, **content):
        rule = {"seconds": 1e-4 * factor, "variation": {"noise": noise}}
        device = script(rules=[rule], **content)
        return run(f"{device}#{session}", "--miopen-perf-verdicts=verdicts.json", *arguments)

    return make


@pytest.fixture
def verdicts(pytester):
    """The verdict file, valid and read back: each problem with its verdict, and the report."""

    def read():
        document = json.loads((pytester.path / "verdicts.json").read_text())
        jsonschema.Draft202012Validator(load_schema("verdicts")).validate(document)
        report = VerdictReport.from_json(document)
        return {row.name: row.verdict.value for row in report.rows}, report

    return read


@pytest.fixture
def saved(gate, convolution_test):
    """Two cases and their baseline "main"."""
    convolution_test(FIRST, SECOND, arguments=NAIVE)
    assert gate("--miopen-perf-save=main").ret == 0


def test_the_baseline_lies_below_the_rootdir_and_the_summary_says_so(pytester, gate, convolution_test):
    convolution_test(FIRST, SECOND, arguments=NAIVE)
    result = gate("--miopen-perf-save=main")
    result.stdout.fnmatch_lines(["saved    2 cases to *.miopen-perf/main.json"])
    baseline = load_baseline(pytester.path / ".miopen-perf/main.json")
    assert [entry.key.name for entry in baseline.entries] == ["fp32-F-1x4x6x6-k4-3x3-p1", "fp32-F-1x8x6x6-k4-3x3-p1"]
    assert all(entry.execution.compile_key for entry in baseline.entries)


def test_an_equal_session_passes(gate, saved, verdicts):
    result = gate("--miopen-perf-compare=main", session=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["verdicts 2 PASS", "against  main, unpaired, saved 0 h ago", "suite * over 2 cases"])
    words, report = verdicts()
    assert set(words.values()) == {"PASS"}
    assert report.versus == "main"


def test_a_regression_fails_its_own_item(pytester, gate, saved, verdicts):
    result = gate("--miopen-perf-compare=main", "--junit-xml=junit.xml", factor=1.2, session=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E *VerdictError: REGRESSION fp32-F-1x4x6x6-k4-3x3-p1: +*100 us -> 120 us, margin 5.00%*again in fresh*",
            "*changed: HipConvNaiveFwd*: the same kernel",
            "*baseline: main, saved *",
            "*reproduce: pytest 'test_conv.py::test_conv[[]fp32-F-1x4x6x6-k4-3x3-p1]' *--miopen-perf-compare=main*",
        ]
    )
    assert "REGRESSION" in (pytester.path / "junit.xml").read_text()
    words, report = verdicts()
    assert set(words.values()) == {"REGRESSION"}
    assert all(row.decision.p_value < 0.01 / 2 for row in report.rows)


def test_the_first_regression_stops_and_last_failed_runs_it_again(gate, saved):
    result = gate("--miopen-perf-compare=main", "-x", factor=1.2)
    result.assert_outcomes(failed=1)
    again = gate("--miopen-perf-compare=main", "--lf", factor=1.2, session=2)
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["vanished: not looked for, since only a part of the suite has run"])


def test_all_cases_of_a_test_are_judged_before_it_fails(gate, convolution_test, verdicts):
    body = f"[miopen_perf(line, 'HipConvNaiveFwd') for line in ({FIRST!r}, {SECOND!r})]"
    convolution_test(FIRST, body=body)
    gate("--miopen-perf-save=main")
    result = gate("--miopen-perf-compare=main", factor=1.2)
    result.assert_outcomes(failed=1)
    assert list(verdicts()[0].values()) == ["REGRESSION", "REGRESSION"]
    result.stdout.fnmatch_lines(["E *REGRESSION fp32-F-1x4x6x6*", "*REGRESSION fp32-F-1x8x6x6*"])


def test_an_expected_failure_may_be_a_regression(gate, pytester, saved):
    test = pytester.path / "test_conv.py"
    test.write_text(test.read_text().replace("def test_conv", "@pytest.mark.xfail(reason='known')\ndef test_conv"))
    gate("--miopen-perf-compare=main", factor=1.2).assert_outcomes(xfailed=2)


def test_faster_is_told_and_passes(gate, saved, verdicts):
    assert gate("--miopen-perf-compare=main", factor=0.8).ret == 0
    assert set(verdicts()[0].values()) == {"IMPROVED"}


def test_another_device_has_no_baseline_and_both_are_shown(gate, saved, verdicts):
    result = gate("--miopen-perf-compare=main", name="Another", factor=1.5)
    assert result.ret == 0
    text = " ".join(line.strip() for line in result.outlines)
    assert "another device: name Scripted device -> Another" in text
    assert set(verdicts()[0].values()) == {"NO_BASELINE"}
    strict = gate("--miopen-perf-compare=main", "--miopen-perf-strict", name="Another")
    strict.assert_outcomes(failed=2)


def test_new_and_vanished_cases_are_listed(gate, saved, convolution_test, verdicts):
    third = FIRST.replace("-c 4", "-c 12")
    convolution_test(FIRST, third, arguments=NAIVE)
    assert gate("--miopen-perf-compare=main").ret == 0
    words, report = verdicts()
    assert words == {"fp32-F-1x4x6x6-k4-3x3-p1": "PASS", "fp32-F-1x12x6x6-k4-3x3-p1": "NO_BASELINE"}
    assert [name for name in report.vanished if "-c 8" in name] == list(report.vanished) != []
    convolution_test(FIRST, arguments=NAIVE)
    result = gate("--miopen-perf-compare=main", "--miopen-perf-strict")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["miopen-perf: 1 case of the baseline did not run*strict*"])


@pytest.mark.parametrize("selection", [("-k", "1x4x6x6"), ("test_conv.py::test_conv[fp32-F-1x4x6x6-k4-3x3-p1]",)])
def test_what_was_not_selected_has_not_vanished(gate, saved, verdicts, selection):
    assert gate("--miopen-perf-compare=main", "--miopen-perf-strict", *selection).ret == 0
    assert verdicts()[1].vanished == ()


def test_a_failed_or_interrupted_session_overwrites_nothing(pytester, gate, saved):
    path = pytester.path / ".miopen-perf/main.json"
    before = path.read_text()
    test = pytester.path / "test_conv.py"
    for broken, code in (("assert False", 1), ("raise KeyboardInterrupt", 2)):
        test.write_text(test.read_text() + f"\ndef test_{code}():\n    {broken}\n")
        device = f"--miopen-perf-device={pytester.path / 'script.json'}"
        result = pytester.runpytest_subprocess("--miopen-perf-backend=scripted", device, "--miopen-perf-save=main")
        assert result.ret == code
        result.stdout.fnmatch_lines(["miopen-perf: no baseline is saved, since the session *main.json is as it was"])
        assert path.read_text() == before


def test_a_session_with_a_regression_saves_nothing(pytester, gate, saved):
    before = (pytester.path / ".miopen-perf/main.json").read_text()
    result = gate("--miopen-perf-compare=main", "--miopen-perf-save=main", factor=1.2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (pytester.path / ".miopen-perf/main.json").read_text() == before


def test_margins_of_marker_file_and_option(gate, saved, convolution_test, verdicts, pytester):
    def margin():
        return {row.margin for row in verdicts()[1].rows}

    gate("--miopen-perf-compare=main", "--miopen-perf-margin=7%")
    assert margin() == {0.07}
    pytester.makeini("[pytest]\nmiopen_perf_margins =\n    other/*.py = 9%\n    test_*.py = 8%\n")
    gate("--miopen-perf-compare=main", "--miopen-perf-margin=7%")
    assert margin() == {0.08}
    convolution_test(FIRST, SECOND, arguments=f"{NAIVE}, margin='30%'")
    assert gate("--miopen-perf-compare=main", factor=1.2).ret == 0
    assert margin() == {0.3}


_ONE_CASE = {
    "devices": {
        "d": dict.fromkeys(("backend", "arch", "name", "driver", "runtime", "compiler"), "x") | {"compute_units": 1}
    },
    "cases": [
        {
            "problem": FIRST,
            "policy": "x",
            "cache_mode": "warm",
            "data": "x",
            "device": "d",
            "saved": "2026-01-01T00:00:00+00:00",
            "seconds": [],
            "execution": {"solver": "x", "config": "", "compile_key": "", "kernel_seconds": {}},
            "environment": {},
        }
    ],
}


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--miopen-perf-margin=5", "did you mean 5%?"),
        ("--miopen-perf-margin=-1%", "a margin is above zero"),
        ("--miopen-perf-margin=much", "give one such as 2% or 0.02"),
        ("--miopen-perf-margins=2%", "give a glob of test files and their margin"),
        ("--miopen-perf-margins=a.py=200%", "take 3 times its time"),
        ("--miopen-perf-compare=absent", "there is no baseline *absent.json; make it with --miopen-perf-save=NAME"),
        ("--miopen-perf-compare=no such", "is no name of a baseline"),
        ("--miopen-perf-save=noise", "belongs to the noise floors"),
        ("--miopen-perf-compare=damaged.json", "is damaged: line 1"),
        ("--miopen-perf-compare=newer.json", "has format version 99*update pytest-miopen-perf"),
        ("--miopen-perf-compare=units.json", "is in 'ms', not in seconds; save a new one"),
        ("--miopen-perf-compare=empty.json", "has no times; measure it again"),
        ("--miopen-perf-save=damaged.json", "is damaged: line 1"),
        ("--miopen-perf-save=newer.json", "has format version 99*update pytest-miopen-perf"),
        ("--miopen-perf-save=damaged.json/deeper.json", "cannot be written, since *damaged.json is a file"),
        ("--miopen-perf-save=./folder.json", "is a folder; give the path of a file"),
    ],
)
def test_bad_input_is_a_sentence(pytester, convolution_test, argument, sentence):
    convolution_test()
    (pytester.path / "damaged.json").write_text("{")
    head = {"format": "pytest-miopen-perf baseline", "version": 1, "unit": "seconds"}
    (pytester.path / "newer.json").write_text(json.dumps(head | {"version": 99}))
    (pytester.path / "units.json").write_text(json.dumps(head | {"unit": "ms"}))
    (pytester.path / "empty.json").write_text(json.dumps(head | _ONE_CASE))
    (pytester.path / "folder.json").mkdir()
    result = pytester.runpytest("--miopen-perf-backend=scripted", argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{sentence}*"])
    assert "Traceback" not in result.stderr.str()


def test_half_a_percent_is_a_margin_and_a_marker_says_where_it_is_wrong(gate, saved, convolution_test):
    assert gate("--miopen-perf-compare=main", "--miopen-perf-margin=0.5%").ret == 0
    convolution_test(FIRST, arguments="margin=5")
    result = gate("--miopen-perf-compare=main")
    result.stdout.fnmatch_lines(["*margin is 5: *did you mean 5%?*"])


def test_other_texts_of_the_kernels_are_told(pytester, gate, saved, verdicts):
    path = pytester.path / ".miopen-perf/main.json"
    baseline = json.loads(path.read_text())
    for case in baseline["cases"]:
        case["execution"]["compile_key"] = "another"
    path.write_text(json.dumps(baseline))
    gate("--miopen-perf-compare=main", factor=1.2)
    assert {row.what_changed.difference.value for row in verdicts()[1].rows} == {"other compile"}


def test_a_path_is_as_good_as_a_name_and_renamed_tests_keep_their_baseline(pytester, gate, saved, verdicts):
    shutil.move(pytester.path / "test_conv.py", pytester.path / "test_renamed.py")
    shutil.move(pytester.path / ".miopen-perf/main.json", pytester.path / "elsewhere.json")
    assert gate("--miopen-perf-compare=./elsewhere.json").ret == 0
    assert set(verdicts()[0].values()) == {"PASS"}


def test_workers_judge_their_own_cases(gate, saved, verdicts):
    result = gate("--miopen-perf-compare=main", "-n", "2", factor=1.2)
    result.assert_outcomes(failed=2)
    assert set(verdicts()[0].values()) == {"REGRESSION"}


def test_wrong_numbers_are_tainted_and_the_test_fails_for_them(gate, script, run, saved, verdicts):
    device = script(rules=[{"wrong": "nan"}])
    result = run(device, "--miopen-perf-compare=main", "--miopen-perf-verdicts=verdicts.json")
    result.assert_outcomes(failed=2)
    assert set(verdicts()[0].values()) == {"TAINTED"}


def test_strict_does_not_take_a_session_without_cases_for_green(gate, pytester, saved):
    (pytester.path / "test_conv.py").write_text("def test_nothing():\n    pass\n")
    result = gate("--miopen-perf-compare=main", "--miopen-perf-strict")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["miopen-perf: no case was held against the baseline*"])


def test_a_tuning_policy_of_marker_or_file_is_part_of_the_key(pytester, gate, convolution_test, verdicts):
    tunable = "solvers=['HipConvImplicitGemmFwd']"
    limits = ("--miopen-perf-tune-configs=1",)
    convolution_test(FIRST, arguments=f"{tunable}, tune='force'")
    gate("--miopen-perf-save=main", *limits)
    (entry,) = load_baseline(pytester.path / ".miopen-perf/main.json").entries
    assert entry.key.policy == "HipConvImplicitGemmFwd; tuned config"
    convolution_test(FIRST, arguments=tunable)
    assert gate("--miopen-perf-compare=main", *limits).ret == 0
    assert set(verdicts()[0].values()) == {"NO_BASELINE"}
    gate("--miopen-perf-compare=main", "--miopen-perf-tune=force", *limits)
    assert set(verdicts()[0].values()) == {"PASS"}


def test_another_device_has_no_baseline_and_both_are_named(gate, saved, verdicts):
    result = gate("--miopen-perf-compare=main", arch="gfx942", name="Another device")
    assert result.ret == 0
    words, report = verdicts()
    assert set(words.values()) == {"NO_BASELINE"}
    sentence = report.rows[0].decision.sentence
    assert "arch scripted -> gfx942, name Scripted device -> Another device" in sentence
    assert "baseline: backend scripted, arch scripted" in sentence
    strict = gate("--miopen-perf-compare=main", "--miopen-perf-strict", arch="gfx942")
    strict.assert_outcomes(failed=2)
