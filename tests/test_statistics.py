"""MIOpen's figures against its documented vectors and a numpy model; robust figures against numpy and scipy."""

import math
import random
import statistics as standard

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_miopen_perf import statistics
from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.statistics import MAX_TIME_MS, MIN_TIME_MS, StoppingRule, why_stop

# times, time_ms, time_std_ms, time_min_ms, time_max_ms
VECTORS = """
5.12 1.9 1.5 1.52 1.48 1.51 1.49 1.53 9.75 1.5 | 1.50429 2.91534 1.48 9.75
0.25 | 0.25 0 0.25 0.25
4 1 | 2.5 1.5 1 4
9 8 1.25 | 1.25 0 1.25 1.25
1.52 1.49 1.41 1.38 | 1.395 0.015 1.38 1.41
1 2 3 4 5 | 4 0.816497 3 5
7 3 1 1 1 1 1 50 | 9.16667 18.2612 1 50
0.21 0.205 0.2 0.202 0.198 0.201 0.26 | 0.20025 0.0267537 0.198 0.26
3 3 2 2.01 1.99 2.02 0.1 | 1.624 0.762066 0.1 2.02
1e-05 1.2e-05 1.1e-05 1.05e-05 | 1.075e-05 2.5e-07 1.05e-05 1.1e-05
""".strip().splitlines()

times = st.lists(st.floats(2.0**-20, 2.0**20, width=32), min_size=1, max_size=40)
near = st.lists(st.integers(0, 60).map(lambda tick: float(np.float32(1 + tick / 64))), min_size=1, max_size=40)
anything = st.floats(allow_nan=True, allow_infinity=True)
values = st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=60)


def printed(figures):
    return [statistics.format_g6(f) for f in (figures.time_ms, figures.std_ms, figures.min_ms, figures.max_ms)]


# --- MIOpen's figures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS)
def test_documented_vectors(vector):
    samples, figures = vector.split("|")
    assert printed(statistics.miopen_statistics(map(float, samples.split()))) == figures.split()


def numpy_median(ordered):
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / np.float32(2)


def numpy_model(samples):
    """The rule once more, with numpy's own float32 type doing every rounding."""
    t = np.array(samples, np.float32)
    s = t[2:] if len(t) > 2 else t
    middle = numpy_median(np.sort(s))
    mad = numpy_median(np.sort(np.abs(s - middle)))
    scores = np.zeros_like(s)
    if mad != 0:
        with np.errstate(over="ignore"):
            scores = (0.6745 * (s - middle).astype(np.float64) / np.float64(mad)).astype(np.float32)
    total = np.float64(0)
    for value in s[scores <= 2]:
        total += np.float64(value)
    mean = np.float32(total) / np.float32((scores <= 2).sum())
    squares = np.float32(0)
    for value in s:
        squares += (value - mean) * (value - mean)
    return mean, np.sqrt(squares / np.float32(len(s))), s.min(), s.max()


@given(st.one_of(times, near))
def test_figures_equal_a_numpy_model_to_the_bit(samples):
    found = statistics.miopen_statistics(samples)
    assert (found.time_ms, found.std_ms, found.min_ms, found.max_ms) == tuple(map(float, numpy_model(samples)))
    assert found.exec_number == 1


@pytest.mark.parametrize(
    ("samples", "mean"),
    [
        # A score of exactly 2 stays.
        ([9.0, 9.0, 1.84853375, 1.84853375, 3.6970675, 5.54560137, 9.17826462], "4.4236"),
        # Deviations that are not rounded would put the greatest one on the other side of 2.
        ([9.0, 9.0, 1.05164981, 1.94493258, 2.38417172, 4.59365845, 1.05164981], "1.6081"),
        ([9.0, 9.0, 0.966062188, 1.68607056, 3.32563686, 3.82101035, 0.966062188], "2.15297"),
    ],
)
def test_scores_on_the_edge_follow_float32(samples, mean):
    found = statistics.miopen_statistics(samples)
    assert statistics.format_g6(found.time_ms) == mean
    assert found.time_ms == float(numpy_model(samples)[0])


@given(st.lists(st.one_of(anything, st.floats(0.1, 10)), max_size=20))
def test_what_is_no_measurement_is_left_out_and_figures_stay_finite(samples):
    kept = [t for t in samples if MIN_TIME_MS <= t <= MAX_TIME_MS]
    found = statistics.miopen_statistics(samples)
    assert found == statistics.miopen_statistics(kept)
    assert (found is None) == (not kept)
    if found:
        assert all(math.isfinite(f) and f >= 0 for f in (found.time_ms, found.std_ms, found.min_ms, found.max_ms))


@pytest.mark.parametrize("bad", [0.0, -0.0, -1.0, math.nan, math.inf, -math.inf, 1e-40, 3.4e38, 1e300])
def test_a_bad_sample_is_never_a_time(bad):
    assert statistics.miopen_statistics([bad]) is None
    assert statistics.miopen_statistics([bad, 2.0, 1.0, bad, 4.0]) == statistics.miopen_statistics([2.0, 1.0, 4.0])
    assert statistics.driver_average_ms([bad]) is None


def test_the_greatest_times_do_not_overflow():
    assert math.isfinite(statistics.miopen_statistics([MAX_TIME_MS, 1e-30] * 500).std_ms)


@pytest.mark.parametrize(
    ("samples", "average"),
    [("5.12 1.9 1.5 1.52 1.48 1.51 1.49 1.53 9.75 1.5", "2.46444"), ("0.25", "0.25"), ("4 1", "1"), ("9 1 3", "2")],
)
def test_driver_average_drops_the_first_and_keeps_outliers(samples, average):
    assert statistics.format_g6(statistics.driver_average_ms(map(float, samples.split()))) == average


@given(times)
def test_driver_average_equals_a_numpy_model(samples):
    total = np.float32(0)
    for value in np.array(samples, np.float32):
        total += value
    first = np.float32(samples[0])
    expected = first if len(samples) == 1 else (total - first) / np.float32(len(samples) - 1)
    assert statistics.driver_average_ms(samples) == float(expected)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(0.1, "0.1"), (1e-5, "1e-05"), (1234567, "1.23457e+06"), (999999.5, "1e+06"), (100, "100"), (-0.0, "-0")],
        *[(0.0, "0"), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (1e300, "inf"), (1e-50, "0")],
        *[(16777217, "1.67772e+07"), (0.0001, "0.0001"), (0.00001234, "1.234e-05"), (999999, "999999")],
    ],
)
def test_numbers_print_as_a_cpp_stream_prints_them(value, text):
    assert statistics.format_g6(value) == text


@given(st.floats(MIN_TIME_MS, MAX_TIME_MS))
def test_printed_digits_survive_being_read_and_printed_again(value):
    text = statistics.format_g6(value)
    assert statistics.format_g6(float(text)) == text


@given(anything)
def test_float32_rounds_as_numpy_does(value):
    with np.errstate(over="ignore"):
        assert np.array_equal(statistics.float32(value), float(np.float32(value)), equal_nan=True)


# --- Robust figures ---------------------------------------------------------------------------------------------------


def test_nothing_has_no_figure():
    for figure in (
        *(statistics.miopen_statistics, statistics.driver_average_ms, statistics.median, statistics.quartiles),
        *(statistics.robust_deviation, statistics.relative_iqr, statistics.relative_noise),
        *(statistics.relative_noise_of_median, statistics.median_interval),
    ):
        assert figure([]) is None, figure


def test_one_value_has_a_median_but_no_noise():
    assert statistics.median([3.0]) == 3.0
    assert statistics.quartiles([3.0]) == (3.0, 3.0)
    assert statistics.relative_noise([3.0]) is None
    assert statistics.relative_iqr([3.0]) is None
    assert statistics.relative_noise([0.0, 0.0]) is None


@given(values)
def test_median_and_quartiles_are_numpys(sample):
    assert statistics.median(sample) == pytest.approx(np.median(sample))
    assert statistics.quartiles(sample) == pytest.approx(np.quantile(sample, [0.25, 0.75]))


@given(values)
def test_robust_deviation_is_the_larger_of_scipys_two(sample):
    expected = max(1.4826 * stats.median_abs_deviation(sample), stats.iqr(sample, interpolation="linear") / 1.349)
    assert statistics.robust_deviation(sample) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(st.lists(st.floats(1, 100), min_size=2, max_size=60), st.floats(0.01, 100))
def test_relative_figures_do_not_depend_on_the_unit(sample, scale):
    scaled = [scale * v for v in sample]
    for figure in (statistics.relative_noise, statistics.relative_iqr, statistics.relative_noise_of_median):
        assert figure(scaled) == pytest.approx(figure(sample), rel=1e-6, abs=1e-9)


def test_noise_of_the_median_is_its_spread_over_many_samples():
    generator = random.Random(7)
    draw = lambda: [generator.gauss(1, 0.05) for _ in range(50)]  # noqa: E731  # one sample of the experiment below
    medians = [statistics.median(draw()) for _ in range(2000)]
    claimed = standard.mean(statistics.relative_noise_of_median(draw()) for _ in range(200))
    assert claimed == pytest.approx(standard.stdev(medians), rel=0.1)


def test_noise_ignores_a_few_wild_values():
    generator = random.Random(8)
    sample = [generator.gauss(1, 0.01) for _ in range(200)]
    wild = sample + [50.0] * 10
    assert statistics.relative_noise(wild) < 1.3 * statistics.relative_noise(sample)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 10, 30, 101, 1500])
def test_median_interval_is_the_binomials(n, confidence):
    found = statistics.median_interval([float(i) for i in range(n)], confidence)
    # P(the interval of order statistics r .. n+1-r holds the median) = 1 - 2 P(B < r), counted from 1.
    reaching = [r for r in range(1, n // 2 + 1) if 1 - 2 * stats.binom.cdf(r - 1, n, 0.5) >= confidence - 1e-12]
    if not reaching:
        assert found is None
        return
    rank = max(reaching)
    assert (found.low, found.high) == (rank - 1, n - rank)
    assert found.coverage == pytest.approx(1 - 2 * stats.binom.cdf(rank - 1, n, 0.5))


def test_median_interval_covers_as_often_as_it_says():
    generator = random.Random(9)
    hits = total = 0
    for _ in range(2000):
        found = statistics.median_interval([generator.expovariate(1) for _ in range(15)])
        hits += found.low <= math.log(2) <= found.high
        total += 1
    assert hits / total == pytest.approx(found.coverage, abs=0.02)


@given(st.lists(st.floats(1e-3, 1e3), max_size=60), st.randoms(use_true_random=False))
def test_figures_do_not_depend_on_the_order(sample, shuffler):
    shuffled = list(sample)
    shuffler.shuffle(shuffled)
    for figure in (statistics.robust_deviation, statistics.median_interval):
        assert figure(shuffled) == figure(sample)


# --- Stopping ---------------------------------------------------------------------------------------------------------

QUIET = [1e-3] * 10
NOISY = [1e-3, 2e-3, 3e-3, 4e-3, 5e-3] * 2


def test_quiet_samples_stop_at_the_least_count():
    rule = StoppingRule(min_samples=10)
    assert [why_stop(rule, QUIET[:n], 0.0) for n in range(11)] == [None] * 10 + ["noise"]


def test_a_noise_equal_to_the_target_is_enough():
    assert why_stop(StoppingRule(target_relative_noise=0.0), QUIET, 0.0) == "noise"


def test_noisy_samples_go_on_to_the_greatest_count():
    rule = StoppingRule(min_samples=2, max_samples=8)
    assert [why_stop(rule, NOISY[:n], 0.0) for n in range(9)] == [None] * 8 + ["max_samples"]


def test_over_the_budget_three_samples_are_enough():
    rule = StoppingRule(min_samples=10, budget_seconds=1.0)
    slow = [0.4, 0.5, 0.6, 0.4]
    assert [why_stop(rule, slow[:n], 1.1) for n in range(1, 5)] == [None, None, "budget", "budget"]
    assert why_stop(rule, slow, 1.0) is None


def test_one_sample_longer_than_the_budget_is_enough():
    assert why_stop(StoppingRule(budget_seconds=1.0), [1.5], 1.6) == "budget"


def test_without_a_valid_sample_the_budget_ends_the_retries():
    rule = StoppingRule(budget_seconds=1.0)
    assert why_stop(rule, [], 0.0) is None
    assert why_stop(rule, [], 1.1) == "budget"


def test_a_fixed_count_is_neither_shortened_nor_prolonged():
    rule = StoppingRule.fixed(10)
    assert [why_stop(rule, QUIET[:n], 1e9) for n in range(11)] == [None] * 10 + ["max_samples"]
    assert why_stop(StoppingRule.fixed(1), [1e-3], 0.0) == "max_samples"


def ended(rule, samples):
    for n in range(1, len(samples) + 1):
        reason = why_stop(rule, samples[:n], 0.0)
        if reason:
            return reason, n
    return None, len(samples)


def test_noise_that_grows_is_no_progress():
    samples = [1.0 + (0.002 * i if i % 2 else 0.0) for i in range(400)]
    reason, n = ended(StoppingRule(patience=20, target_relative_noise=1e-4), samples)
    assert reason == "no_progress"
    assert 40 <= n < 60


def drawn(seed, n, draw):
    generator = random.Random(seed)
    return [draw(generator) for _ in range(n)]


@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.1])
def test_a_steady_source_reaches_its_target(sigma):
    for seed in range(10):
        reason, n = ended(StoppingRule(), drawn(seed, 1000, lambda g: g.gauss(1, sigma)))
        expected = max(10, (1.2533 * sigma / 0.005) ** 2)
        assert reason == "noise"
        assert expected / 3 <= n <= 3 * expected + 10


def test_noise_is_looked_at_a_few_dozen_times_in_a_thousand_samples(monkeypatch):
    looks = []
    monkeypatch.setattr(statistics, "relative_noise_of_median", lambda v: looks.append(len(v)) or 1.0)
    rule = StoppingRule(patience=10_000)
    for n in range(1, 1000):
        why_stop(rule, [1.0] * n, 0.0)
    assert 10 <= len(looks) <= 100


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *[("min_samples", 0), ("min_samples", 2000), ("budget_seconds", 0.0), ("budget_seconds", math.nan)],
        *[("target_relative_noise", -0.1), ("target_relative_noise", math.nan), ("patience", 0)],
    ],
)
def test_a_wrong_rule_names_its_field(field, wrong):
    with pytest.raises(SettingsError, match=field):
        StoppingRule(**{field: wrong})


@given(
    st.lists(st.floats(1e-6, 10), max_size=60),
    st.floats(0, 100),
    st.builds(
        StoppingRule,
        min_samples=st.integers(1, 20),
        max_samples=st.integers(20, 50),
        budget_seconds=st.floats(0.1, 50),
        target_relative_noise=st.floats(0, 0.1),
        patience=st.integers(1, 20),
    ),
)
def test_reasons_mean_what_they_say(samples, elapsed, rule):
    reason = why_stop(rule, samples, elapsed)
    n = len(samples)
    if n >= rule.max_samples:
        assert reason == "max_samples"
    if reason == "budget":
        assert elapsed > rule.budget_seconds
        assert n >= min(3, rule.min_samples) or not n or max(samples) > rule.budget_seconds
    if reason in ("noise", "no_progress"):
        assert n >= rule.min_samples
        is_quiet = statistics.relative_noise_of_median(samples) <= rule.target_relative_noise
        assert is_quiet == (reason == "noise")
