"""Wrong values are told at once, in one sentence that names the option, the value and what to give instead."""

import pytest

from pytest_miopen_perf.options import OPTIONS


@pytest.mark.parametrize(
    ("argument", "what"),
    [
        ("--miopen-perf-level=banana", "give a level from 0 (off) to 4"),
        ("--miopen-perf-level=5", "give a level from 0 (off) to 4"),
        ("--miopen-perf-level=", "give a level from 0 (off) to 4"),
        ("--miopen-perf-backend=vulkan", "give one of auto, hip"),
        ("--miopen-perf-tune=always", "give one of off, missing, force"),
        ("--miopen-perf-tune-budget=-1s", "give a time above zero"),
        ("--miopen-perf-tune-configs=0", "give a whole number of at least 1"),
        ("--miopen-perf-tune-patience=never", "give a whole number of at least 1"),
        ("--miopen-perf-tune-strategy=clever", "give one of neighbours, random"),
        ("--miopen-perf-iter=ten", "give a whole number of at least 1"),
        ("--miopen-perf-case-budget=fast", "give a time above zero"),
        ("--miopen-perf-noise=200%", "give a share between 0 and 1"),
        ("--miopen-perf-seed=4294967296", "give a whole number from 0 to 4294967295"),
        ("--miopen-perf-data=random", "give one of miopen, integers"),
        ("--miopen-perf-tolerance=nan", "give a factor above zero"),
        ("--miopen-perf-memory=lots", "give a size such as 512M or 4G"),
        (f"--miopen-perf-memory={'9' * 400}", "give a size such as 512M or 4G"),
        ("--miopen-perf-log=", "it is empty; give the path of a file"),
        ("--miopen-perf-order=random", "give one of forward, reverse, strided"),
        ("--miopen-perf-log=no/such/folder/log.jsonl", "does not exist; make it, or give another path"),
        ("--miopen-perf-json=.", "it is a folder; give the path of a file"),
        ("--miopen-perf-cache=test_conv.py", "it is a file; give the path of a folder"),
        ("--miopen-perf-db=", "give the path of a folder"),
        ("--miopen-perf-solver=", "it is empty"),
        ("--miopen-perf-problems=gone.txt", "it is no file, no bundled workload and no MIOpenDriver line"),
        ("--miopen-perf-problems=test_conv.py", "holds no convolution command"),
        ("--miopen-perf-problems=conv -n 0 -F 1", "-n (--batchsize): n is 0"),
        *(
            (f"--miopen-perf-{name}=~no one/it", "~no one/it begins with a home folder that does not exist")
            for name in ("db", "cache", "kernels", "log", "json", "problems", "driver", "baselines", "verdicts")
        ),
        ("--miopen-perf-margin=200%", "would let a kernel take 3 times its time"),
    ],
)
def test_wrong_value_is_a_usage_error(pytester, convolution_test, argument, what):
    convolution_test()
    result = pytester.runpytest(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    option, _, value = argument.partition("=")
    (line,) = [line for line in result.errlines if option in line]
    assert f"{option} is {value!r}: " in line
    assert what in line
    assert "Traceback" not in result.stderr.str()


def test_wrong_ini_value_names_the_ini_key(pytester, convolution_test):
    convolution_test()
    pytester.makeini("[pytest]\nmiopen_perf_tune = often\n")
    result = pytester.runpytest("--miopen-perf-backend=scripted")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini value miopen_perf_tune is 'often': give one of off, missing, force*"])


@pytest.mark.parametrize(
    "ini", ["miopen_perf_level = 9", "miopen_perf_problems = gone.txt", "miopen_perf_margins = a.py"]
)
def test_a_wrong_ini_value_alone_is_one_line(pytester, convolution_test, ini):
    convolution_test()
    pytester.makeini(f"[pytest]\n{ini}\n")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line]
    assert line.startswith(f"ERROR: ini value {ini.partition(' =')[0]} is ")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def test_line(miopen_perf): pass\ndef test_more(miopen_perf): pass", pytest.ExitCode.USAGE_ERROR),
        ("def test_conv(conv_problem): pass", pytest.ExitCode.INTERRUPTED),
    ],
)
def test_a_baseline_of_the_ini_file_that_is_not_there_is_told_once(pytester, text, code):
    pytester.makepyfile(text)
    pytester.makeini("[pytest]\nmiopen_perf_compare = gone\n")
    result = pytester.runpytest()
    assert result.ret == code
    assert len([line for line in result.outlines + result.errlines if "there is no baseline" in line]) == 1


def test_a_worker_fails_its_tests_for_such_a_baseline(pytester):
    pytester.makepyfile("def test_line(miopen_perf): pass")
    pytester.makeini("[pytest]\nmiopen_perf_compare = gone\n")
    result = pytester.runpytest("-n", "1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["there is no baseline *; make it with --miopen-perf-save=NAME"])


def test_an_ini_file_makes_no_session_for_tests_of_others(pytester):
    pytester.makepyfile("def test_nothing(): pass")
    pytester.makeini("[pytest]\nmiopen_perf_level = 4\nmiopen_perf_compare = gone\n")
    result = pytester.runpytest()
    assert result.ret == 0
    assert "miopen-perf:" not in result.stdout.str()


def test_ini_values_are_defaults_and_the_command_line_wins(pytester, convolution_test, results):
    convolution_test()
    pytester.makeini("[pytest]\nmiopen_perf_backend = scripted\nmiopen_perf_seed = 7\nmiopen_perf_level = 1\n")
    assert pytester.runpytest("--miopen-perf-json=results.json").ret == 0
    assert (results()["settings"]["seed"], results()["settings"]["level"]) == (7, 1)
    assert pytester.runpytest("--miopen-perf-json=results.json", "--miopen-perf-seed=8").ret == 0
    assert results()["settings"]["seed"] == 8


@pytest.mark.parametrize(("text", "level"), [("3", 3), ("banana", 0), ("0x2", 2), ("-1", 2**64 - 1), ("", 0)])
def test_the_variable_is_read_as_miopen_reads_it_and_the_header_says_so(
    run, monkeypatch, convolution_test, text, level
):
    monkeypatch.setenv("MIOPEN_PERFORMANCE_LOGS", text)
    convolution_test()
    result = run()
    result.stdout.fnmatch_lines(
        [f"miopen-perf: level {level} (from MIOPEN_PERFORMANCE_LOGS, read as MIOpen reads it)*"]
    )
    assert result.ret == 0


def test_the_option_wins_over_the_variable(run, monkeypatch, convolution_test):
    monkeypatch.setenv("MIOPEN_PERFORMANCE_LOGS", "4")
    convolution_test()
    run("--miopen-perf-level=0").stdout.fnmatch_lines(["miopen-perf: level 0, back-end scripted"])


def test_help_names_every_option(pytester):
    text = pytester.runpytest("--help").stdout.str()
    for option in OPTIONS:
        assert option.option in text
        assert option.key in text


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ("problem=[]", "has no argument 'problem'; it knows problems, solvers, tolerance, iterations, tune"),
        ("tolerance=-1", "tolerance is -1: give a factor above zero"),
        ("tolerance='x'", "tolerance is 'x': give a factor above zero"),
        ("tune='often'", "tune is 'often': give one of off, missing, force"),
        ("margin='200%'", "margin is '200%': a margin of 200% would let a kernel take 3 times its time"),
        ("gate='speed'", "gate is 'speed': "),
        ("cache_state='hot'", "cache_state is 'hot': give one of warm, rotating, cold"),
        ("launch='fast'", "launch is 'fast': give one of isolated, back-to-back"),
        ("iterations=0", "iterations is 0: give a whole number of at least 1"),
        ("solvers='HipConvNaiveFwd'", "solvers is 'HipConvNaiveFwd'; give a list of texts"),
        ("solvers=5", "solvers is 5; give a list of texts"),
        ("solvers=['Winograd*']", "no solver is called 'Winograd*'; there are: HipConv"),
    ],
)
def test_wrong_marker_arguments_are_one_sentence_at_collection(run, convolution_test, arguments, what):
    convolution_test(arguments=arguments)
    result = run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert len([line for line in result.outlines + result.errlines if what in line]) == 1


def test_the_marker_of_a_test_without_parameters_is_checked_too(pytester, run):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.miopen_perf(tolerance="x")
        def test_conv(miopen_perf):
            pass
        """
    )
    result = run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["the marker miopen_perf of *::test_conv: tolerance is 'x': give a factor above zero*"])


def test_positional_marker_arguments(pytester, run):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.miopen_perf("smoke")
        def test_conv(miopen_perf, conv_problem):
            pass
        """
    )
    result = run()
    assert any("takes named arguments only" in line for line in result.outlines + result.errlines)


def test_a_script_that_cannot_be_read_is_one_sentence(run, convolution_test):
    convolution_test()
    result = run("--miopen-perf-device=/no/such.json")
    assert result.parseoutcomes() == {"errors": 1}
    assert "the device script /no/such.json cannot be read" in result.stdout.str()
    assert "script_file.py" not in result.stdout.str()
