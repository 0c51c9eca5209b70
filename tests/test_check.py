import json

from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.check import Check, Reason

numbers = st.floats(allow_nan=False, allow_infinity=False)
checks = st.builds(
    Check,
    reason=st.sampled_from(Reason),
    rms_error=st.none() | numbers,
    rms_tolerance=numbers,
    worst=st.lists(st.integers(0, 2**40), min_size=4, max_size=5).map(tuple),
    got=st.none() | numbers,
    want=numbers,
    bound=numbers,
    sentence=st.text(),
)


@given(checks)
def test_a_check_survives_json(check):
    text = json.dumps(check.to_json(), allow_nan=False)
    assert Check.from_json(json.loads(text)) == check


@given(checks)
def test_only_a_right_result_passes(check):
    assert check.passed == (check.reason is Reason.RIGHT)
