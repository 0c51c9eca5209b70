"""Each figure against scipy or brute force, and the rules that hold for any times."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_miopen_perf.gate.estimators import (
    Block,
    estimate_over_units,
    geometric_mean,
    hodges_lehmann,
    process_log_ratio,
    smallest_detectable_change,
)

times = st.floats(1e-7, 10.0)
slots = st.lists(times, min_size=1, max_size=7).map(tuple)
blocks = st.builds(Block, order=st.sampled_from(["ABBA", "BAAB"]), slots_seconds=st.tuples(slots, slots, slots, slots))
ratios = st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=12)
SWAPPED = {"ABBA": "BAAB", "BAAB": "ABBA"}


def drifting_block(order, slope, effect, launches=5):
    """Times that grow linearly on the logarithm, B slower by `effect`."""
    steps = itertools.count()
    return Block(
        order=order,
        slots_seconds=tuple(
            tuple(1e-4 * math.exp(slope * next(steps) + (effect if arm == "B" else 0)) for _ in range(launches))
            for arm in order
        ),
    )


def drift_values():
    return st.floats(-0.05, 0.05)


@given(st.sampled_from(["ABBA", "BAAB"]), drift_values(), drift_values())
def test_a_block_cancels_linear_drift(order, slope, effect):
    assert drifting_block(order, slope, effect).log_ratio == pytest.approx(effect, abs=1e-12)


@given(blocks)
def test_swapping_the_arms_turns_the_sign(block):
    swapped = Block(order=SWAPPED[block.order], slots_seconds=block.slots_seconds)
    assert swapped.log_ratio == -block.log_ratio


@given(blocks, st.floats(0.01, 100))
def test_a_ratio_knows_no_unit(block, factor):
    scaled = Block(
        order=block.order, slots_seconds=tuple(tuple(t * factor for t in slot) for slot in block.slots_seconds)
    )
    assert scaled.log_ratio == pytest.approx(block.log_ratio, abs=1e-9)


def test_times_that_are_none_are_left_out_of_their_slot():
    good = (1.0, 1.0)
    block = Block(order="ABBA", slots_seconds=(good, (2.0, 0.0, -1.0, math.nan, math.inf), (2.0,), good))
    assert block.log_ratio == pytest.approx(math.log(2))


def test_a_slot_without_a_time_leaves_no_ratio_and_the_other_blocks_decide():
    broken = Block(order="ABBA", slots_seconds=((1.0,), (0.0,), (1.0,), (1.0,)))
    assert broken.log_ratio is None
    assert process_log_ratio([broken]) is None
    assert process_log_ratio([broken, drifting_block("BAAB", 0, 0.25)]) == pytest.approx(0.25)
    assert process_log_ratio([]) is None


@pytest.mark.parametrize(("order", "count"), [("AABB", 4), ("ABBA", 3)])
def test_a_block_has_one_of_two_orders_and_four_slots(order, count):
    with pytest.raises(ValueError, match="a block is"):
        Block(order=order, slots_seconds=((1.0,),) * count)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=15))
def test_hodges_lehmann_is_the_median_of_walsh_averages(values):
    walsh = [(values[i] + values[j]) / 2 for i in range(len(values)) for j in range(i, len(values))]
    assert hodges_lehmann(values) == pytest.approx(float(np.median(walsh)), abs=1e-12)


def signed_rank_sum(values):
    return stats.rankdata(np.abs(values))[values > 0].sum()


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=15, unique=True))
def test_hodges_lehmann_is_where_the_signed_rank_statistic_is_balanced(values):
    centre = hodges_lehmann(values)
    wiggle = 1e-9
    below, above = (signed_rank_sum(np.array(values) - centre + step) for step in (-wiggle, wiggle))
    balance = len(values) * (len(values) + 1) / 4
    assert below <= balance <= above


def test_hodges_lehmann_does_not_mind_one_wild_block_of_six():
    calm = [0.01, 0.011, 0.009, 0.0105, 0.0095]
    assert hodges_lehmann([*calm, 5.0]) < 0.0115


@settings(max_examples=40)
@given(ratios, st.floats(-0.1, 0.1))
def test_estimates_are_scipys_one_sample_t_test(values, bound):
    estimate = estimate_over_units(values)
    if np.std(values) < 1e-9:
        return
    above = stats.ttest_1samp(values, bound, alternative="greater")
    below = stats.ttest_1samp(values, bound, alternative="less")
    assert estimate.p_above(bound) == pytest.approx(above.pvalue, rel=1e-6, abs=1e-12)
    assert estimate.p_below(bound) == pytest.approx(below.pvalue, rel=1e-6, abs=1e-12)
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert estimate.change_interval() == pytest.approx(
        (math.expm1(interval.low), math.expm1(interval.high)), rel=1e-6, abs=1e-9
    )


@given(ratios)
def test_swapping_the_arms_mirrors_an_estimate(values):
    one, other = estimate_over_units(values), estimate_over_units([-v for v in values])
    assert other.log_ratio == -one.log_ratio
    assert other.standard_error == one.standard_error
    assert other.effect_over_noise == -one.effect_over_noise
    assert other.p_above(0.01) == one.p_below(-0.01)


@given(ratios, st.floats(0, 0.2), st.floats(0, 0.2))
def test_a_wider_margin_is_never_easier_to_exceed(values, one, other):
    estimate = estimate_over_units(values)
    low, high = sorted((one, other))
    assert estimate.p_above(low) <= estimate.p_above(high)
    assert estimate.p_below(low) >= estimate.p_below(high)


def test_one_unit_knows_nothing_of_its_noise():
    estimate = estimate_over_units([0.5])
    assert (estimate.standard_error, estimate.change_interval()) == (None, None)
    assert (estimate.p_above(0.01), estimate.p_below(0.01), estimate.effect_over_noise) == (1.0, 1.0, 0.0)
    assert smallest_detectable_change(estimate, 0.01) is None


def test_units_without_spread_are_decided_by_their_place():
    estimate = estimate_over_units([0.02, 0.02, 0.02])
    assert (estimate.p_above(0.01), estimate.p_below(0.01), estimate.p_above(0.02)) == (0.0, 1.0, 0.5)
    assert estimate.effect_over_noise == math.inf
    assert estimate.change_interval() == (estimate.change, estimate.change)


def test_nothing_has_no_estimate():
    with pytest.raises(ValueError, match="at least one"):
        estimate_over_units([])
    assert geometric_mean([]) is None


@pytest.mark.parametrize("units", [2, 3, 5, 8, 12, 300])
def test_the_smallest_detectable_change_is_found_in_95_of_100_measurements(units):
    deviation, margin = 0.006, 0.01
    standard = [deviation * z for z in stats.zscore(range(units), ddof=1)]
    estimate = estimate_over_units(standard)
    visible = smallest_detectable_change(estimate, margin)
    distance = (math.log1p(visible) - math.log1p(margin)) / estimate.standard_error
    power = stats.nct.sf(stats.t.isf(0.01, units - 1), units - 1, distance)
    assert power == pytest.approx(0.95, abs=1e-5)


@settings(max_examples=40)
@given(st.lists(ratios, min_size=1, max_size=6))
def test_the_suite_is_the_geometric_mean_of_its_ratios(cases):
    mean = geometric_mean([estimate_over_units(values) for values in cases])
    assert 1 + mean.change == pytest.approx(stats.gmean([math.exp(np.mean(values)) for values in cases]))


def test_the_suite_interval_is_welchs_for_two_cases():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.01, 0.01, 8).tolist(), rng.normal(0.02, 0.03, 5).tolist()
    mean = geometric_mean([estimate_over_units(a), estimate_over_units(b)])
    welch = stats.ttest_ind(a, [-x for x in b], equal_var=False)
    assert mean.degrees == pytest.approx(welch.df)
    interval = welch.confidence_interval(0.95)
    assert mean.change_interval() == pytest.approx((math.expm1(interval.low / 2), math.expm1(interval.high / 2)))


def test_a_suite_with_unknown_noise_has_a_mean_and_no_interval():
    mean = geometric_mean([estimate_over_units([0.1]), estimate_over_units([0.3, 0.3])])
    assert mean.log_ratio == pytest.approx(0.2)
    assert mean.change_interval() is None


def test_a_suite_without_spread_has_an_interval_of_no_width():
    mean = geometric_mean([estimate_over_units([0.1, 0.1])])
    assert mean.change_interval() == pytest.approx((math.expm1(0.1),) * 2)


@pytest.mark.parametrize("units", [3, 8])
def test_the_interval_covers_the_truth_in_95_of_100_runs(units):
    chance = random.Random(units)
    covered = 0
    for _ in range(2000):
        low, high = estimate_over_units([chance.gauss(0.02, 0.01) for _ in range(units)]).change_interval()
        covered += low <= math.expm1(0.02) <= high
    assert stats.binomtest(covered, 2000, 0.95).pvalue > 1e-3
