"""The canary's delay is as long as it should be, on a scripted clock and on the CPU."""

import contextlib

import pytest

from pytest_miopen_perf.canary import Delay, calibrated, is_slowed
from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.devices.probe_kernels import DELAY
from pytest_miopen_perf.devices.script import KernelScript, Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import LaunchError


def device(**rule):
    return ScriptedDevice(Script(rules=(KernelScript(kernel="canary_delay", **rule),)))


@pytest.mark.parametrize("wanted", [1e-6, 2e-5, 1e-3])
def test_it_lasts_as_long_as_it_should(wanted):
    delay = calibrated(device(seconds=2e-7, seconds_per_iteration=1e-9), wanted)
    assert delay.execute() == pytest.approx(wanted, abs=1e-9)


def test_what_is_shorter_than_a_launch_is_one_launch():
    delay = calibrated(device(seconds=5e-6, seconds_per_iteration=1e-9), 1e-6)
    assert (delay.iterations, delay.execute()) == (1, pytest.approx(5.001e-6))


def test_a_loop_that_takes_no_time_is_no_canary():
    with pytest.raises(LaunchError, match="does not take longer"):
        calibrated(device(seconds=1e-6), 1e-5)


def test_a_clock_without_times_is_no_clock():
    with pytest.raises(LaunchError, match="no valid time"):
        calibrated(device(times_seconds=(0.0,)), 1e-5)


def test_a_compiler_keeps_the_loop(tmp_path):
    options = DeviceOptions(cache_dir=tmp_path)
    if reason := cpu.probe(options):
        pytest.skip(reason)
    with contextlib.closing(cpu.open_device(options)) as device:
        kernel = device.compile(DELAY)
        short, long = (
            min(Delay(device=device, kernel=kernel, iterations=count).execute() for _ in range(5))
            for count in (10_000, 1_000_000)
        )
    assert long > 10 * short


def test_every_process_draws_the_same_half(make_problem):
    problems = [make_problem(c=channels) for channels in range(1, 201)]
    drawn = [is_slowed(problem, 7) for problem in problems]
    assert drawn == [is_slowed(problem, 7) for problem in problems]
    assert 70 < sum(drawn) < 130
    assert drawn != [is_slowed(problem, 8) for problem in problems]
