"""What is asked of the trials of a search, counted as they come."""

from hypothesis import given
from hypothesis import strategies as st
from search_stage import failed, measured

from pytest_miopen_perf.tuning.ranking import Tally, fastest

SECONDS = st.none() | st.sampled_from([1.0, 2.0, 3.0])


@given(st.lists(st.tuples(SECONDS, st.booleans()), max_size=12))
def test_a_tally_says_what_all_of_its_trials_say(outcomes):
    tally = Tally()
    for number, (seconds, is_known) in enumerate(outcomes):
        trial = failed(str(number)) if seconds is None else measured(str(number), seconds)
        tally.add(trial, is_known=is_known)
        assert tally.best == fastest(tally.trials), "the first of equals"
    assert len(tally.trials) == len(outcomes)
    assert tally.failed == sum(trial.is_failed for trial in tally.trials)
    assert tally.known_before == sum(is_known for _, is_known in outcomes)
