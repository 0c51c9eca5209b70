import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.noise_floor import NoiseFloor, load_noise, noise_text, paired_floor, session_floor

DEVICE = Fingerprint(backend="cpu", arch="x", name="n", compute_units=1, driver="", runtime="", compiler="cc")
floors = st.builds(
    NoiseFloor,
    key=st.builds(
        CaseKey, problem=st.text(), policy=st.text(), cache_mode=st.just("warm"), data=st.just("miopen, seed 1")
    ),
    device=st.builds(
        Fingerprint,
        backend=st.just("cpu"),
        arch=st.text(max_size=3),
        name=st.text(max_size=3),
        compute_units=st.integers(1, 9),
        driver=st.just(""),
        runtime=st.just(""),
        compiler=st.just("cc"),
    ),
    measured=st.just("2026-03-03T12:00:00+00:00"),
    processes=st.integers(2, 20),
    paired=st.floats(0, 1),
    session=st.floats(0, 1),
)


def test_the_paired_floor_is_the_least_margin_that_an_a_a_run_passes():
    chance = random.Random(1)
    log_ratios = [chance.gauss(0.001, 0.004) for _ in range(8)]
    floor = paired_floor(log_ratios)
    bound = math.log1p(floor)
    p_values = (
        stats.ttest_1samp(log_ratios, bound, alternative="less").pvalue,
        stats.ttest_1samp(log_ratios, -bound, alternative="greater").pvalue,
    )
    assert max(p_values) == pytest.approx(0.01, rel=1e-6)


def test_the_session_floor_is_exceeded_by_one_pair_of_sessions_in_a_hundred():
    chance = random.Random(2)
    exceeded = 0
    for _ in range(4000):
        floor = math.log1p(session_floor([chance.gauss(5, 0.02) for _ in range(6)]))
        exceeded += chance.gauss(5, 0.02) - chance.gauss(5, 0.02) > floor
    assert stats.binomtest(exceeded, 4000, 0.01).pvalue > 1e-3


@settings(max_examples=40)
@given(st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=9))
def test_floors_do_not_ask_which_arm_was_first(values):
    mirrored = [-value for value in values]
    assert paired_floor(mirrored) == paired_floor(values) >= 0
    assert session_floor(mirrored) == pytest.approx(session_floor(values), abs=1e-12)


def test_one_process_has_no_floor():
    assert paired_floor([0.1]) is None
    assert session_floor([0.1]) is None


@settings(max_examples=30)
@given(st.lists(floors, max_size=4, unique_by=lambda floor: (floor.key, floor.device)))
def test_floors_survive_their_file(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("noise") / "noise.json"
    path.write_text(noise_text(found), encoding="utf-8")
    assert set(load_noise(path)) == set(found)
    assert noise_text(load_noise(path)) == noise_text(found)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"version": 1', '"version": 2', "noise file .* format version 2"),
        ('"paired": 0.01', '"paired": -1', "no share of a time"),
        ('"paired": 0.01', '"pared": 0.01', "the field 'paired' is missing"),
        ('"paired": 0.01', '"paired": "x"', "damaged"),
        ("pytest-miopen-perf noise", "pytest-miopen-perf baseline", "no noise file"),
    ],
)
def test_a_damaged_file_says_why(tmp_path, old, new, words):
    floor = NoiseFloor(
        key=CaseKey(problem="conv", policy="A", cache_mode="warm", data="d"),
        device=DEVICE,
        measured="2026-03-03T12:00:00+00:00",
        processes=5,
        paired=0.01,
        session=0.02,
    )
    path = tmp_path / "noise.json"
    path.write_text(noise_text([floor]).replace(old, new), encoding="utf-8")
    with pytest.raises(BaselineError, match=words):
        load_noise(path)
