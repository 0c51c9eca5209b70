"""Counts in sentences, and the one scale of severity."""

import pytest

from pytest_miopen_perf.severity import WORST_FIRST, Severity
from pytest_miopen_perf.wording import counted, crossed


@pytest.mark.parametrize(("count", "text"), [(0, "0 records"), (1, "1 record"), (2, "2 records")])
def test_one_is_not_several(count, text):
    assert counted(count, "record") == text


def test_severities_are_counted_in_words():
    assert [one.counted(1) for one in WORST_FIRST] == ["1 error", "1 warning", "1 info"]
    assert [one.counted(2) for one in WORST_FIRST] == ["2 errors", "2 warnings", "2 info"]


def test_every_severity_has_a_rank():
    assert sorted(Severity, key=lambda one: one.rank) == list(WORST_FIRST)


def test_sizes_are_one_word():
    assert (crossed((3, 1, 2)), crossed([7])) == ("3x1x2", "7")
