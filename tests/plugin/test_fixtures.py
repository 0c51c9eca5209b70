"""The fixtures: a problem in, a checked and timed result out, and failures that say why."""

import pytest

LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"


def test_a_result_is_checked_and_timed(run, convolution_test):
    convolution_test(
        body="""result = miopen_perf(conv_problem)
                assert result.check.passed
                assert result.sample.median_seconds > 0
                assert result.solver in ("HipConvNaiveFwd", "HipConvImplicitGemmFwd")
                assert result.device.backend == "scripted" """
    )
    assert run("--miopen-perf-level=1", "--miopen-perf-log=log.jsonl").parseoutcomes() == {"passed": 1}


def test_at_level_0_numbers_are_checked_and_nothing_is_timed(run, convolution_test):
    convolution_test(body="assert miopen_perf(conv_problem).sample is None")
    result = run()
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.fnmatch_lines(["cases    1 passed; 1 checked but not timed"])
    assert "{" not in result.stderr.str()


def test_a_driver_line_is_a_problem(pytester, run):
    pytester.makepyfile(
        f"""
        def test_line(miopen_perf):
            assert miopen_perf("{LINE}", solver="HipConvNaiveFwd").solver == "HipConvNaiveFwd"
        """
    )
    assert run().parseoutcomes() == {"passed": 1}


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (f'miopen_perf("{LINE}", solver="Winograd")', "no solver is called 'Winograd'"),
        (f'miopen_perf("{LINE.replace("-F 1", "-F 0")}")', "holds 3 directions; name one with -F 1, 2 or 4"),
        ('miopen_perf("MIOpenDriver conv --no_such 1")', "no_such"),
    ],
)
def test_a_wrong_call_fails_in_one_sentence(pytester, run, call, what):
    pytester.makepyfile(f"def test_call(miopen_perf):\n    {call}\n")
    result = run()
    assert result.parseoutcomes() == {"failed": 1}
    (line,) = [line for line in result.outlines if line.startswith("E ")]
    assert what in line
    assert "harness.py" not in result.stdout.str(), "the way through the plugin is shown"


def test_the_summary_begins_with_what_is_wrong_and_not_with_its_class(pytester, run):
    pytester.makepyfile(test_c="def test_call(miopen_perf):\n    miopen_perf('conv -n 1', 'Winograd')\n")
    result = run()
    result.stdout.fnmatch_lines(["FAILED *::test_call - no solver is called 'Winogra*"])


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        ("conv -n 1 -c 4 -H 2 -W 2 -k 4 -y 5 -x 5 -F 1", "computes nothing"),
        ("convint8 -n 1 -c 4 -H 8 -W 8 -k 4 -F 2", "int8"),
        ("conv -n 512 -c 512 -H 512 -W 512 -k 512 -F 1", "GiB of memory and"),
    ],
)
def test_what_cannot_run_is_a_skip_with_its_reason(run, convolution_test, problem, reason):
    convolution_test(problem)
    result = run("-rs")
    assert result.parseoutcomes() == {"skipped": 1}
    assert reason in result.stdout.str()


def test_the_memory_limit_names_both_numbers(run, convolution_test):
    convolution_test("conv -n 1 -c 64 -H 56 -W 56 -k 64 -F 1")
    result = run("-rs", "--miopen-perf-memory=64K")
    assert result.parseoutcomes() == {"skipped": 1}
    assert "MiB of memory and 64.0 KiB may be used" in result.stdout.str()


def test_a_missing_back_end_is_a_skip_at_setup(pytester, convolution_test, monkeypatch):
    convolution_test()
    monkeypatch.setattr("pytest_miopen_perf.devices.cpu.probe", lambda options: "no compiler; install ziglang")
    result = pytester.runpytest("-rs", "--miopen-perf-backend=cpu")
    assert result.parseoutcomes() == {"skipped": 1}
    assert "no compiler; install ziglang" in result.stdout.str()


def test_wrong_numbers_fail_with_the_worst_element_and_a_reproducer(run, script, convolution_test):
    convolution_test(arguments="solvers=['HipConvNaive*']")
    device = script(rules=[{"kernel": "naive_conv_fwd", "wrong": {"element": 5, "add": 1.0}}])
    result = run(device, "--miopen-perf-level=1", "--miopen-perf-log=log.jsonl", "--miopen-perf-seed=9")
    assert result.parseoutcomes() == {"failed": 1}
    text = result.stdout.str()
    assert "reproduce: pytest 'test_conv.py::test_conv[" in text
    assert "--miopen-perf-solver=HipConvNaiveFwd --miopen-perf-seed=9" in text
    assert "the worst, y[0, 0, 0, 5] is 1.0000" in text
    result.stdout.fnmatch_lines(["*HipConvNaiveFwd*WRONG", "cases    1 failed*"])


def test_a_wrong_solver_fails_the_case_even_if_another_is_right(run, script, convolution_test):
    convolution_test()
    device = script(rules=[{"kernel": "implicit_gemm_conv_fwd", "wrong": "zeros"}])
    result = run(device, "--miopen-perf-level=1", "--miopen-perf-log=log.jsonl")
    assert result.parseoutcomes() == {"failed": 1}
    assert "HipConvImplicitGemmFwd on fp32-F-1x4x6x6-k4-3x3-p1" in result.stdout.str()


@pytest.mark.parametrize("fault", [{"compile_error": "no such type"}, {"launch_error": "no such type"}])
def test_a_solver_that_says_it_applies_and_does_not_run_fails_the_case(run, script, convolution_test, fault):
    convolution_test(arguments="solvers=['HipConvImplicitGemmFwd', 'HipConvNaiveFwd']")
    device = script(rules=[{"kernel": "implicit_gemm_conv_fwd", **fault}])
    result = run(device, "--miopen-perf-level=1", "--miopen-perf-log=log.jsonl")
    assert result.parseoutcomes() == {"failed": 1}
    text = result.stdout.str()
    assert "HipConvImplicitGemmFwd on fp32-F-1x4x6x6-k4-3x3-p1: " in text
    assert "no such type" in text


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"compile_error": "error: expected ';' after expression"}, "error: expected ';' after expression"),
        ({"launch_error": "too many resources requested"}, "too many resources requested"),
        ({"hang": True}, "did not"),
    ],
)
def test_a_kernel_that_fails_is_an_error_in_the_compilers_own_words(run, script, convolution_test, fault, words):
    convolution_test(arguments="solvers=['HipConvNaive*']")
    result = run(script(rules=[fault]), "--miopen-perf-level=1", "--miopen-perf-log=log.jsonl")
    assert result.parseoutcomes() == {"failed": 1}
    assert words in result.stdout.str()
    result.stdout.fnmatch_lines(["*ERROR", "cases    1 error"])


def test_marker_settings_govern_the_run(run, convolution_test):
    convolution_test(
        arguments="iterations=7, tune='force', solvers=['HipConvImplicitGemm*']",
        body="""result = miopen_perf(conv_problem)
                assert len(result.sample.counted) == 7
                assert result.config_origin == "tuned"
                assert len(result.tuning[0].trials) == 4 """,
    )
    outcome = run("--miopen-perf-level=1", "--miopen-perf-log=log.jsonl", "--miopen-perf-tune-configs=4")
    assert outcome.parseoutcomes() == {"passed": 1}


def test_missing_tunes_once_a_problem(run, convolution_test):
    convolution_test(
        arguments="solvers=['HipConvImplicitGemm*']",
        body="""first, second = miopen_perf(conv_problem), miopen_perf(conv_problem)
                assert first.tuning and not second.tuning
                assert first.config == second.config
                assert second.config_origin == "tuned" """,
    )
    assert run("--miopen-perf-tune=missing", "--miopen-perf-tune-configs=3").parseoutcomes() == {"passed": 1}


def test_a_given_config_is_used_and_checked(run, convolution_test):
    convolution_test(
        arguments="solvers=['HipConvImplicitGemm*']",
        body="""result = miopen_perf(conv_problem)
                assert (result.config, result.config_origin) == ("64,32,32,8,4,4,1", "given") """,
    )
    assert run("--miopen-perf-config=64,32,32,8,4,4,1").parseoutcomes() == {"passed": 1}
    refused = run("--miopen-perf-config=64,32,32,8,4,5,1")
    assert refused.parseoutcomes() == {"failed": 1}
    assert "is not valid for HipConvImplicitGemmFwd" in refused.stdout.str()
    unparsable = run("--miopen-perf-config=64,32,32,8,4,four,1")
    assert "gemm_n_per_thread is 'four', not an integer" in unparsable.stdout.str()


def test_the_logger_fixture_writes_into_the_sessions_log(pytester, run, log_lines):
    pytester.makepyfile(
        """
        def test_own(performance_logger):
            with performance_logger.solution("MySolver", 20001):
                performance_logger.add_performance_config("my_kernel")
                performance_logger.add_invoker_times([3.0, 2.0, 1.0])
        """
    )
    assert run("--miopen-perf-level=3", "--miopen-perf-log=log.jsonl").parseoutcomes() == {"passed": 1}
    (line,) = log_lines()
    assert (line["solution"], line["phase"]) == ("MySolver", "unknown")


def test_without_problems_the_test_says_what_is_missing(pytester, run):
    pytester.makepyfile("def test_conv(miopen_perf, conv_problem): pass")
    result = run()
    assert result.parseoutcomes() == {"errors": 1}
    assert "give the marker miopen_perf(problems=[...]) or the option --miopen-perf-problems" in result.stdout.str()


def test_a_reproducer_repeats_what_decides_the_numbers(run, script, convolution_test):
    convolution_test(arguments="solvers=['HipConvNaive*']")
    words = ["--miopen-perf-order=strided", "--miopen-perf-guard", "--miopen-perf-tolerance=0.5"]
    text = run(script(rules=[{"kernel": "naive_conv_fwd", "wrong": "zeros"}]), *words).stdout.str()
    (line,) = {line.strip() for line in text.splitlines() if "reproduce: pytest" in line}
    assert all(word in line for word in words)


def test_hooks_add_solvers_and_observe_results(pytester, run, convolution_test):
    pytester.makeconftest(
        """
        from dataclasses import replace

        from pytest_miopen_perf.solvers.naive import SOLVERS

        def pytest_miopen_perf_solvers(config):
            return [replace(SOLVERS[0], name="MyNaiveFwd", solver_id=20001)]

        def pytest_miopen_perf_result(item, result):
            print("observed", result.solver)
        """
    )
    convolution_test(arguments="solvers=['MyNaive*']")
    result = run("-s")
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.fnmatch_lines(["*observed MyNaiveFwd*"])


def test_two_solvers_of_one_name_are_refused(pytester, run, convolution_test):
    pytester.makeconftest(
        """
        from pytest_miopen_perf.solvers.naive import SOLVERS

        def pytest_miopen_perf_solvers(config):
            return [SOLVERS[0]]
        """
    )
    convolution_test()
    result = run()
    assert result.ret != 0
    assert any("two solvers are called HipConvNaiveFwd" in line for line in result.outlines + result.errlines)
