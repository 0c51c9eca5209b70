"""Numbers in few characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.report.units import percent, rate, short_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.5e-9, "1.50 ns"), (12.34e-6, "12.3 us"), (0.9996e-3, "1.00 ms"), (4.5678e-3, "4.57 ms"), (99.96, "100 s")],
)
def test_short_time(seconds, text):
    assert short_time(seconds) == text


@pytest.mark.parametrize(("share", "text"), [(0.0, "0.00%"), (0.0042, "0.42%"), (0.123, "12.3%"), (1.234, "123%")])
def test_percent(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(("value", "text"), [(0.0123, "0.012"), (4.561, "4.56"), (78.94, "78.9"), (12345.6, "12346")])
def test_rate(value, text):
    assert rate(value) == text


_SIZES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@given(st.floats(1e-9, 999.0))
def test_a_short_time_fits_its_column_and_tells_three_digits(seconds):
    text = short_time(seconds)
    number, unit = text.split()
    assert len(text) <= 7
    assert float(number) * _SIZES[unit] == pytest.approx(seconds, rel=6e-3)
