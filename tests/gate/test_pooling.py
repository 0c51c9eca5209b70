"""Runs of one case that one process made."""

import pytest

from pytest_miopen_perf.gate.pooling import pooled_sentence


def test_nothing_is_said_of_cases_that_ran_once_a_process(make_case, make_run):
    assert pooled_sentence(make_run([make_case(), make_case(channels=8)], [make_case()]), "f") == ""


@pytest.mark.parametrize(("others", "words"), [([], "a case of it was run 2 times"), ([8, 8, 8], "2 cases of it were")])
def test_what_a_process_ran_again_is_counted(make_case, make_run, others, words):
    run = make_run([make_case(), make_case(), *(make_case(channels=channels) for channels in others)], [make_case()])
    assert f"f: {words}" in pooled_sentence(run, "f")
    assert pooled_sentence(run, "f").endswith("in one process, and the times are pooled")


def test_a_log_cannot_tell_sessions_apart(make_case, make_run):
    case = make_case(cache_mode=None)
    assert pooled_sentence(make_run([case, case]), "f").endswith("keep the log of each session in a file of its own")
