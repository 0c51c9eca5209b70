"""Moments in files are of one form, which tells its time zone."""

import os
from datetime import datetime, timedelta, timezone

from pytest_miopen_perf.moments import now, when_written


def test_now_is_this_second_in_utc():
    before = datetime.now(timezone.utc).replace(microsecond=0)
    moment = datetime.fromisoformat(now())
    assert before <= moment <= datetime.now(timezone.utc)
    assert moment.utcoffset() == timedelta(0)


def test_a_file_was_written_when_it_was(tmp_path):
    path = tmp_path / "log"
    path.touch()
    os.utime(path, (0, 1_700_000_000.9))
    assert when_written(path) == "2023-11-14T22:13:20+00:00"
