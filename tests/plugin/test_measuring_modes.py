"""Cache states, launch modes, the device's clock and who disturbs it, through the whole plugin."""

import jsonschema
import pytest

from pytest_miopen_perf.schema import load_schema

JSON = "--miopen-perf-json=results.json"
NAIVE = "solvers=['HipConvNaiveFwd']"


@pytest.fixture
def case(results):
    """The one result of a results file that satisfies its schema."""

    def read():
        document = results()
        jsonschema.Draft202012Validator(load_schema("results")).validate(document)
        (found,) = document["cases"]
        return found["result"]

    return read


def test_the_usual_run_tells_its_clock_and_its_sensor(run, convolution_test, case):
    convolution_test(arguments=NAIVE)
    result = run("--miopen-perf-level=1", JSON)
    result.stdout.fnmatch_lines(
        [
            "data * caches warm; *",
            "clock    timer step * an empty launch takes 2.0* us, which is not subtracted",
            "sensor *",
        ]
    )
    found = case()
    assert (found["cache_mode"], found["sample"]["batch"]) == ("warm", 1)
    assert found["circumstances"]["launch_mode"] == "isolated"
    assert found["circumstances"]["empty_launch_seconds"] == pytest.approx(2e-6, rel=0.02)
    assert len(found["circumstances"]["blocks"]) == 1


@pytest.mark.parametrize(
    ("options", "cache_mode", "launch_mode", "footer"),
    [
        (["--miopen-perf-cache-state=rotating"], "rotating", "isolated", "caches   * sets of buffers take turns, *"),
        (
            ["--miopen-perf-cache-state=cold"],
            "cold",
            "isolated",
            "caches   2.0 MiB are filled before each execution, *",
        ),
        (
            ["--miopen-perf-launch=back-to-back"],
            "warm",
            "back-to-back",
            "launches 1 case back-to-back, one time around *",
        ),
    ],
)
def test_what_is_declared_is_done_and_said(
    run, convolution_test, case, script, options, cache_mode, launch_mode, footer
):
    convolution_test(arguments=NAIVE)
    result = run("--miopen-perf-level=2", JSON, *options, script(rules=[{"seconds": 1e-4}]))
    assert result.ret == 0
    result.stdout.fnmatch_lines([footer])
    found = case()
    assert (found["cache_mode"], found["circumstances"]["launch_mode"]) == (cache_mode, launch_mode)


def test_a_marker_declares_for_its_test_alone(run, pytester, results):
    line = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.miopen_perf(cache_state="cold", solvers=["HipConvNaiveFwd"])
        def test_cold(miopen_perf):
            miopen_perf({line!r})

        @pytest.mark.miopen_perf(launch="back-to-back", solvers=["HipConvNaiveFwd"])
        def test_back_to_back(miopen_perf):
            miopen_perf({line!r})
        """
    )
    assert run(JSON).ret == 0
    found = [case["result"] for case in results()["cases"]]
    assert [(one["cache_mode"], one["circumstances"]["launch_mode"]) for one in found] == [
        ("cold", "isolated"),
        ("warm", "back-to-back"),
    ]


def test_cold_and_back_to_back_exclude_each_other(run, convolution_test):
    convolution_test(arguments=NAIVE)
    result = run("--miopen-perf-cache-state=cold", "--miopen-perf-launch=back-to-back")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: cold caches and back-to-back launches exclude each other: *"])


@pytest.mark.parametrize(
    "arguments", ["cache_state='hot'", "launch='twice'", "cache_state='cold', launch='back-to-back'"]
)
def test_a_wrong_marker_is_one_sentence(run, convolution_test, arguments):
    convolution_test(arguments=arguments)
    result = run("--miopen-perf-level=1")
    result.assert_outcomes(errors=1)
    assert "Traceback" not in result.stdout.str()


def test_rotating_without_a_known_cache_is_a_skip_with_its_reason(run, convolution_test, script):
    convolution_test(arguments=NAIVE)
    result = run("--miopen-perf-level=1", "-rs", "--miopen-perf-cache-state=rotating", script(cache_bytes=0))
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*cannot be made rotating: the device does not tell how large they are*"])


def test_a_coarse_timer_batches_and_says_so(run, convolution_test, script, case):
    convolution_test(arguments=NAIVE)
    device = script(timer_step_seconds=1e-6, empty_launch_seconds=2.3e-6, rules=[{"seconds": 3e-6}])
    result = run("--miopen-perf-level=2", JSON, device)
    result.stdout.fnmatch_lines(
        ["launches 1 case shorter than 100 steps of the timer, and one time taken around 3* executions"]
    )
    assert case()["circumstances"]["launch_mode"] == "batched"


def test_level_0_asks_nothing_of_the_device(run, convolution_test, script):
    convolution_test(arguments=NAIVE)
    result = run("--miopen-perf-cache-state=rotating", "-rs", script(cache_bytes=0))
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("clock *")


def test_others_on_the_device_taint_the_verdict_and_the_footer(run, convolution_test, script):
    convolution_test(arguments=NAIVE)
    assert run("--miopen-perf-save=main", script(rules=[{"seconds": 1e-4}])).ret == 0
    busy = script(rules=[{"seconds": 2e-4}], other_processes=1)
    result = run("--miopen-perf-compare=main", busy)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["tainted  1 case: another process held the device while it was measured", "*TAINTED*"])
    strict = run("--miopen-perf-compare=main", "--miopen-perf-strict", busy)
    assert strict.ret == 1
    saving = run("--miopen-perf-save=other", busy)
    assert saving.ret == 1
    saving.stdout.fnmatch_lines(["*no baseline is saved of a session with tainted times: *"])


def test_another_launch_mode_is_another_case_of_the_gate(run, convolution_test, script):
    convolution_test(arguments=NAIVE)
    device = script(rules=[{"seconds": 1e-4}])
    assert run("--miopen-perf-save=main", device).ret == 0
    result = run("--miopen-perf-compare=main", "--miopen-perf-launch=back-to-back", device)
    result.stdout.fnmatch_lines(["*NO_BASELINE*"])
