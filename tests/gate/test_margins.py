import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate.margins import effective_margin, parse_margin


@pytest.mark.parametrize(
    ("text", "margin"),
    [("2%", 0.02), ("0.5%", 0.005), ("0.02", 0.02), (" 2 % ", 0.02), (".5%", 0.005), (0.03, 0.03), ("1e-3", 1e-3)],
)
def test_margins(text, margin):
    assert parse_margin(text) == pytest.approx(margin, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5", "did you mean 5%"),
        ("1", "did you mean 1%"),
        ("-1%", "above zero"),
        ("0", "above zero"),
        ("100%", "take 2 times its time"),
        ("500", "take 501 times its time"),
        ("two", "share of the time"),
        ("", "share of the time"),
        ("nan", "share of the time"),
        ("1e999", "above zero"),
        ("2 percent", "share of the time"),
        ("2%%", "share of the time"),
    ],
)
def test_what_is_no_margin_says_what_to_give(text, words):
    with pytest.raises(SettingsError, match=words):
        parse_margin(text)


@given(st.floats(1e-6, 0.999))
def test_a_share_and_its_percent_are_the_same_margin(share):
    assert parse_margin(repr(share)) == share
    assert parse_margin(f"{share * 100!r}%") == pytest.approx(share, rel=1e-12)


@given(st.text(max_size=8))
def test_any_text_is_a_margin_or_a_sentence(text):
    with contextlib.suppress(SettingsError):
        assert 0 < parse_margin(text) < 1


def test_the_machine_can_only_raise_the_margin():
    assert effective_margin(0.01, None) == 0.01
    assert effective_margin(0.01, 0.004) == 0.01
    assert effective_margin(0.01, 0.03) == 0.03
