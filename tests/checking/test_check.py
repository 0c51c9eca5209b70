import json

from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.checking.check import Check, Reason

numbers = st.floats(allow_nan=False, allow_infinity=False)
checks = st.builds(
    Check,
    reason=st.sampled_from(Reason),
    rms_error=st.none() | numbers,
    rms_tolerance=numbers,
    worst=st.lists(st.integers(0, 2**40), min_size=4, max_size=5).map(tuple),
    got=st.none() | numbers,
    want=st.none() | numbers,
    bound=st.none() | numbers,
    sentence=st.text(),
)


@given(checks)
def test_a_check_survives_json(check):
    text = json.dumps(check.to_json(), allow_nan=False)
    assert Check.from_json(json.loads(text)) == check


@given(checks)
def test_a_result_passes_that_is_right_or_that_nobody_looked_at(check):
    assert check.passed == (check.reason in {Reason.RIGHT, Reason.UNCHECKED})
