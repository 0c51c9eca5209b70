"""A bar where somebody watches, nothing elsewhere."""

import sys
import threading

import pytest

from pytest_miopen_perf.report.compile_progress import compile_progress


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_bar_is_for_terminals(monkeypatch, capsys, is_watched):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_watched)
    with compile_progress(3) as advance:
        threads = [threading.Thread(target=advance) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    out, err = capsys.readouterr()
    assert out == ""
    assert ("compiling" in err) is is_watched
    assert ("3/3" in err) is is_watched
