"""Scripted times: repeatable to the last bit, and distributed as the script says."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_miopen_perf.devices.script import ClockStates, KernelScript, Script, Spikes, Throttle, Variation
from pytest_miopen_perf.devices.script_times import DeviceVariation, VariationFactor, stepped
from pytest_miopen_perf.launch import KernelSource

LAUNCHES = 4000


def factors(variation, stream="stream", launches=LAUNCHES):
    factor = VariationFactor(variation, stream)
    return np.array([factor.at(launch) for launch in range(launches)])


def test_no_variation_changes_nothing():
    assert set(factors(Variation())) == {1.0}


def test_noise_is_log_normal():
    logs = np.log(factors(Variation(noise=0.02)))
    assert stats.kstest(logs / 0.02, "norm").pvalue > 0.01
    assert abs(np.corrcoef(logs[1:], logs[:-1])[0, 1]) < 0.05


def test_spikes_are_as_frequent_and_as_large_as_said():
    times = factors(Variation(spikes=Spikes(probability=0.1, factor=1.3)))
    assert set(times) == {1.0, 1.3}
    assert stats.binomtest(int((times > 1).sum()), LAUNCHES, 0.1).pvalue > 0.01


def test_drift_compounds_by_the_thousand():
    times = factors(Variation(drift=0.03), launches=2001)
    assert times[[0, 1000, 2000]] == pytest.approx([1, 1.03, 1.03**2])
    assert (np.diff(times) > 0).all()
    assert (np.diff(factors(Variation(drift=-0.03), launches=100)) < 0).all()


def test_throttling_is_a_step():
    times = factors(Variation(throttle=Throttle(after_launches=7, factor=1.5)), launches=20)
    assert times.tolist() == [1.0] * 7 + [1.5] * 13


def test_clock_states_dwell():
    states = ClockStates(factor=1.1, probability=0.5, dwell_launches=40)
    stretches = factors(Variation(clock_states=states)).reshape(-1, 40)
    assert (stretches == stretches[:, :1]).all()
    assert set(stretches[:, 0]) == {1.0, 1.1}
    assert stats.binomtest(int((stretches[:, 0] > 1).sum()), len(stretches), 0.5).pvalue > 0.01


def test_a_session_offset_is_one_factor_that_differs_between_sessions():
    offsets = [factors(Variation(session_offset=0.1), f"session {n}", 3) for n in range(300)]
    assert all(len(set(each)) == 1 for each in offsets)
    assert stats.kstest(np.log([each[0] for each in offsets]) / 0.1, "norm").pvalue > 0.01


EVERYTHING = Variation(
    noise=0.01,
    spikes=Spikes(probability=0.2, factor=1.2),
    drift=0.05,
    throttle=Throttle(after_launches=500, factor=1.1),
    clock_states=ClockStates(factor=0.9, dwell_launches=7),
    session_offset=0.02,
)


def test_a_launch_has_its_time_whatever_was_asked_before():
    in_order = factors(EVERYTHING, launches=1500)
    shuffled = list(range(1500))
    random.Random(3).shuffle(shuffled)
    factor = VariationFactor(EVERYTHING, "stream")
    for launch in shuffled:
        assert factor.at(launch) == in_order[launch]


def test_the_numbers_are_the_same_on_every_machine_and_python():
    golden = [0.9990713121828152, 0.9810278257228036, 0.999309125065601]
    assert factors(EVERYTHING, "seed 0 session 0 device", 3).tolist() == pytest.approx(golden, rel=1e-12)


def test_streams_differ():
    variation = Variation(noise=0.01)
    assert abs(np.corrcoef(factors(variation, "a"), factors(variation, "b"))[0, 1]) < 0.05


def test_seeds_sessions_and_rules_have_their_own_numbers():
    rules = (KernelScript(variation=Variation(noise=0.01)),) * 2
    scripts = [Script(rules=rules), Script(rules=rules, seed=1), Script(rules=rules, session=1)]
    drawn = [DeviceVariation(script).factor(rule, 5, 5) for script in scripts for rule in (0, 1)]
    assert len(set(drawn)) == 6
    assert DeviceVariation(scripts[0]).factor(0, 5, 5) == drawn[0]


def test_device_and_rule_vary_together():
    rule = KernelScript(variation=Variation(throttle=Throttle(after_launches=2, factor=3.0)))
    script = Script(rules=(rule,), variation=Variation(throttle=Throttle(after_launches=10, factor=5.0)))
    variation = DeviceVariation(script)
    assert [variation.factor(0, 1, 1), variation.factor(0, 2, 2), variation.factor(0, 2, 10)] == [1.0, 3.0, 15.0]
    assert variation.factor(-1, 2, 10) == 5.0


def test_configs_spread_and_stay_what_they_are_in_every_session():
    rule = KernelScript(config_spread=0.2)
    sources = [KernelSource(file="f.hip", entry="e", defines=(("TILE", str(n)),)) for n in range(200)]
    spread = [DeviceVariation(Script(rules=(rule,))).config_factor(rule, source) for source in sources]
    assert stats.kstest(np.log(spread) / 0.2, "norm").pvalue > 0.01
    later = DeviceVariation(Script(rules=(rule,), session=9))
    assert [later.config_factor(rule, source) for source in sources] == spread
    assert later.config_factor(KernelScript(), sources[0]) == 1.0


@given(st.floats(1e-9, 10), st.floats(1e-9, 1e-3))
@settings(deadline=None, derandomize=True)
def test_a_timer_shows_the_nearest_step(seconds, step):
    shown = stepped(seconds, step)
    assert abs(shown - seconds) <= step / 2 * (1 + 1e-6)
    assert math.isclose(shown / step, round(shown / step), abs_tol=1e-6 * max(1.0, shown / step))
    assert stepped(seconds, 0.0) == seconds
