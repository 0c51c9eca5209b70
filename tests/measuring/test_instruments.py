"""A device's clock before it is believed: its step and its empty launch, on scripted timers."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.devices.script import KernelScript, Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.measuring.instruments import instruments_of, smallest_step
from pytest_miopen_perf.telemetry import NoSensor

NONE = NoSensor("none")


@pytest.mark.parametrize("step", [32e-9, 0.5e-6, 1e-6])
def test_the_step_of_the_timer_is_found(step):
    device = ScriptedDevice(Script(timer_step_seconds=step, empty_launch_seconds=2.3e-6))
    assert instruments_of(device, NONE).timer_step_seconds == pytest.approx(step, rel=1e-6)


def test_a_timer_without_steps_seems_to_have_a_very_small_one():
    found = instruments_of(ScriptedDevice(Script()), NONE)
    assert found.timer_step_seconds < 2e-8
    assert found.empty_launch_seconds == pytest.approx(2e-6, rel=0.02)


def test_probing_is_no_launch_that_a_script_counts():
    script = Script(rules=(KernelScript(times_seconds=(0.0,), launch_error="no"),), lost_after_launches=0)
    device = ScriptedDevice(script)
    assert instruments_of(device, NONE).empty_launch_seconds == pytest.approx(2e-6, rel=0.02)
    assert device._launches == 0


def test_a_device_on_which_the_empty_kernel_fails_tells_of_no_clock():
    device = ScriptedDevice(Script(rules=(KernelScript(compile_error="no"),)))
    found = instruments_of(device, NONE)
    assert (found.timer_step_seconds, found.empty_launch_seconds, found.sensor) == (None, None, NONE)


def test_equal_scripts_have_equal_clocks():
    first, second = (instruments_of(ScriptedDevice(Script(seed=3)), NONE) for _ in range(2))
    assert first == second


def test_the_cpu_has_a_clock(tmp_path):
    options = DeviceOptions(cache_dir=tmp_path)
    if reason := cpu.probe(options):
        pytest.skip(reason)
    with contextlib.closing(cpu.open_device(options)) as device:
        found = instruments_of(device, NONE)
    assert 0 < found.timer_step_seconds < 1e-3
    assert found.empty_launch_seconds > 0


@given(st.lists(st.integers(1, 10_000), min_size=2), st.sampled_from([1e-8, 32e-9, 1e-6]))
def test_a_step_is_no_larger_than_any_difference(counts, step):
    times = [count * step for count in counts]
    found = smallest_step(times)
    if len(set(counts)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(min(abs(a - b) for a in set(counts) for b in set(counts) if a != b) * step)


def test_rounding_is_no_step():
    assert smallest_step([1e-3, 1e-3 * (1 + 1e-7), 2e-3]) == pytest.approx(1e-3, rel=1e-6)
    assert smallest_step([1e-6, 1e-6 + 1e-10]) is None
    assert smallest_step([]) is None
