"""`--miopen-perf-db`: an unchanged second run tunes nothing, compares nothing and compiles nothing."""

import pytest

ARGUMENTS = ("--miopen-perf-db=tuned", "--miopen-perf-tune-configs=4", "--miopen-perf-level=3")


@pytest.fixture
def session(run, results, log_lines):
    """Run a session; the one result of it and the phases that its log names."""

    def make(*arguments):
        outcome = run(*ARGUMENTS, "--miopen-perf-json=results.json", "--miopen-perf-log=log.jsonl", *arguments)
        assert outcome.parseoutcomes() == {"passed": 1}
        (case,) = results()["cases"]
        return case["result"], [line["phase"] for line in log_lines() if "phase" in line]

    return make


def test_the_second_run_tunes_and_compares_nothing(session, convolution_test):
    convolution_test(arguments="solvers=['HipConvImplicitGemmFwd', 'HipConvNaiveFwd']")
    first, phases = session("--miopen-perf-tune=missing")
    assert phases == ["solver_tuning", *["tuning"] * len(first["find"]), "validation", "execution"]
    second, phases = session("--miopen-perf-tune=missing")
    assert phases == ["validation", "execution"]
    assert (second["solver"], second["config"]) == (first["solver"], first["config"])
    assert (second["tuning"], second["find"]) == ([], [])


def test_force_searches_again_and_off_ignores_what_is_stored(session, convolution_test):
    convolution_test(arguments="solvers=['HipConvImplicitGemmFwd']")
    session("--miopen-perf-tune=missing")
    forced, phases = session("--miopen-perf-tune=force")
    assert phases[0] == "solver_tuning"
    assert forced["config_origin"] == "tuned"
    off, phases = session("--miopen-perf-tune=off")
    assert phases == ["validation", "execution"]
    assert off["config_origin"] == "default"


def test_a_stored_config_that_does_not_fit_is_told_once_and_not_used(pytester, session, run, convolution_test):
    convolution_test(arguments="solvers=['HipConvImplicitGemmFwd']")
    session("--miopen-perf-tune=missing")
    (path,) = (pytester.path / "tuned").glob("*.udb.txt")
    key = path.read_text().partition("=")[0]
    path.write_text(f"{key}=HipConvImplicitGemmFwd:1,2,3\nno equals sign\n")
    outcome = run(*ARGUMENTS, "--miopen-perf-tune=missing", "--miopen-perf-log=log.jsonl", "-W", "default")
    assert outcome.parseoutcomes()["passed"] == 1
    text = outcome.stdout.str()
    assert "is not used: ImplicitGemmConfig '1,2,3' has 3 values where 7 belong" in text
    assert "holds 1 ill-formed records or entries" in text


def test_a_folder_that_cannot_be_written_is_told_and_loses_no_result(pytester, run, results, convolution_test):
    (pytester.path / "file").write_text("")
    convolution_test()
    assert any("it is a file" in line for line in run("--miopen-perf-db=file").errlines)
    outcome = run(
        "--miopen-perf-db=/proc/none",
        "--miopen-perf-tune=missing",
        "--miopen-perf-json=results.json",
        "--miopen-perf-level=1",
        "--miopen-perf-log=log.jsonl",
        "-W",
        "default",
    )
    assert "cannot hold tuned configs" in outcome.stdout.str()
    assert outcome.parseoutcomes()["passed"] == 1
    (case,) = results()["cases"]
    assert (case["result"]["config_origin"], case["result"]["tuning"] != []) == ("tuned", True)
