"""What the footer says of the circumstances, and that it says nothing where nothing was timed."""

from dataclasses import replace

from pytest_miopen_perf.checking.check import Check, Reason
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.report.circumstance_lines import cache_words, circumstance_lines
from pytest_miopen_perf.results import Result, Sample
from pytest_miopen_perf.telemetry import BlockReadings, Reading

CHECK = Check(
    reason=Reason.RIGHT, rms_error=0.0, rms_tolerance=1e-6, worst=(0,), got=1.0, want=1.0, bound=0.1, sentence="right"
)
DEVICE = DeviceInfo(backend="cuda", name="D", arch="a", compute_units=1, wavefront=1, lds_bytes=1, memory_bytes=1)


def result(make_problem, batch=1, cache_mode="warm", is_timed=True, **circumstances):
    return Result(
        problem=make_problem(),
        device=DEVICE,
        solver="S",
        solver_id=1,
        algorithm=1,
        config="",
        config_origin="default",
        workspace_bytes=0,
        check=CHECK,
        sample=Sample(seconds=(1e-6,), batch=batch) if is_timed else None,
        cache_mode=cache_mode,
        circumstances=Circumstances(**circumstances),
    )


def lines(*results):
    return list(circumstance_lines(results))


def readings(**fields):
    return BlockReadings(before=Reading(), after=Reading(**fields))


def test_what_was_not_timed_has_no_circumstances(make_problem):
    assert lines(result(make_problem, is_timed=False, sensor="NVML")) == []
    assert lines(result(make_problem)) == []


def test_caches_are_named_with_how_they_came_about(make_problem):
    first = result(make_problem, cache_mode="rotating", cache_note="3 sets")
    second = replace(first, circumstances=Circumstances(cache_note="4 sets"))
    assert cache_words([first, second, result(make_problem)]) == "rotating, warm"
    assert cache_words([]) == "warm"
    assert lines(first, first) == ["caches   3 sets"]
    assert lines(first, second) == ["caches   3 sets; 1 more in the results file"]


def test_batches_say_their_length_and_where_kernels_come_from(make_problem):
    results = [result(make_problem, batch=length, launch_mode="back-to-back") for length in (2, 40)]
    assert lines(*results) == [
        "launches 2 cases back-to-back, one time around 2 to 40 executions",
        "         their kernels' own times are of executions by themselves",
    ]
    assert lines(result(make_problem, batch=7, launch_mode="batched"))[0] == (
        "launches 1 case shorter than 100 steps of the timer, and one time taken around 7 executions"
    )


def test_the_clock_is_told_once_a_session(make_problem):
    one = result(make_problem, timer_step_seconds=32e-9, empty_launch_seconds=2.1e-6)
    assert lines(one, one) == ["clock    timer step 32.0 ns, an empty launch takes 2.10 us, which is not subtracted"]
    assert lines(result(make_problem, timer_step_seconds=1e-6)) == ["clock    timer step 1.00 us"]


def test_sensors_tell_what_they_read_from_least_to_most_or_why_not(make_problem):
    blocks = (readings(clock_mhz=1755, temperature_celsius=40), readings(clock_mhz=1980, temperature_celsius=40))
    assert lines(result(make_problem, sensor="NVML", blocks=blocks)) == ["sensor   NVML, 1755 to 1980 MHz, 40 °C"]
    assert lines(result(make_problem, sensor="NVML is not installed")) == ["sensor   NVML is not installed"]


def test_tainted_cases_are_counted_with_the_reason(make_problem):
    tainted = result(make_problem, blocks=(readings(other_processes=1),))
    assert lines(tainted, tainted, result(make_problem)) == [
        "tainted  2 cases: another process held the device while it was measured"
    ]
