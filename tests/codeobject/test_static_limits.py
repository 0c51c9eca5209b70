"""Limits as people write them, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.codeobject.limits import Growth, StaticLimits, parse_limits

growths = st.none() | st.builds(Growth, count=st.integers(0, 10**6), share=st.integers(0, 300).map(lambda n: n / 100))
limits = st.builds(StaticLimits, **dict.fromkeys(StaticLimits.__dataclass_fields__, growths))


@given(bounds=limits)
def test_what_is_printed_can_be_read_again(bounds):
    assert parse_limits(str(bounds)) == bounds


@given(growth=growths.filter(bool), before=st.integers(0, 10**6), now=st.integers(0, 10**7))
def test_the_wider_of_count_and_share_counts(growth, before, now):
    is_granted = now <= before + growth.count or now <= before * (1 + growth.share) + 1e-6
    if abs(now - before * (1 + growth.share)) > 1e-3:
        assert growth.allows(before, now) is is_granted


def test_what_is_not_named_stays_at_its_default():
    found = parse_limits("lds=10%, waves=2,code=off,scratch=1K")
    assert found == StaticLimits(
        lds=Growth(share=0.1), waves=Growth(count=2), code=None, scratch=Growth(count=1024), spills=Growth()
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("joy=1", "'joy' is none of spills, scratch, waves, lds, code"),
        ("lds", "'lds' is none of|give limits such as"),
        ("", "give limits such as lds=10%, waves=2, code=off"),
        ("lds=1,lds=2", "'lds' is named twice"),
        ("lds=-1", "lds is '-1': give a count such as 8 or 4K"),
        ("lds=some", "lds is 'some'"),
        ("lds=1 or 2", "lds is '1 or 2'"),
        ("lds=10% or 20%", "lds is '10% or 20%'"),
    ],
)
def test_wrong_limits_say_what_to_give(text, what):
    with pytest.raises(ValueError, match=what):
        parse_limits(text)
