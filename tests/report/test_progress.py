"""What stands beside the bar of a search, and where there is a bar at all."""

import contextlib
import io
from types import SimpleNamespace

import pytest

from pytest_miopen_perf.report import progress
from pytest_miopen_perf.running.choosing import no_display
from pytest_miopen_perf.tuning.rule import Progress


def step(**changes):
    return Progress(**{"solver": "HipConv", "done": 3, "total": 10} | changes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"done": 0}, "10 configs"),
        ({"done": 0, "most_seconds": 60.0}, "at most 1m00s for 10 configs"),
        ({"seconds_left": 42.4}, "42s left"),
        ({"seconds_left": 5.0, "failed": 2}, "5s left, 2 failed"),
        ({"seconds_left": 0.0, "best_seconds": 1.5e-3, "best_config": "8,16"}, "0s left, best 1.50 ms 8,16"),
        ({"seconds_left": 0.0, "finalists": 3}, "race of 3"),
    ],
)
def test_what_the_bar_says(changes, text):
    assert progress.progress_text(step(**changes)) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0s"), (59.4, "59s"), (59.6, "1m00s"), (185, "3m05s"), (7800, "2h10m")]
)
def test_time_left(seconds, text):
    assert progress.time_left(seconds) == text


def config(*, is_tty=True, **more):
    plugins = {"terminalreporter": SimpleNamespace(hasmarkup=is_tty)}
    return SimpleNamespace(pluginmanager=SimpleNamespace(getplugin=plugins.get), **more)


def test_no_bar_where_nobody_watches():
    assert progress.search_progress(config(is_tty=False)) is no_display
    assert progress.search_progress(config(workerinput={})) is no_display


def test_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with contextlib.ExitStack() as stack:
        show = stack.enter_context(progress.search_progress(config())())
        show(step(seconds_left=65.0, best_seconds=1e-3, best_config="[8]"))
    assert "HipConv" in terminal.getvalue()
    assert "3/10" in terminal.getvalue()
    assert "1m05s left, best 1.00 ms [8]" in terminal.getvalue()


def test_a_line_is_shown_at_once_though_all_is_captured(pytester):
    pytester.makeconftest(
        """
        from pytest_miopen_perf.report.progress import live_lines

        def pytest_runtest_call(item):
            print("the words of a test")
            live_lines(item.config)("the device is busy")
        """
    )
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest()
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.fnmatch_lines(["miopen-perf: the device is busy"])
    assert "the words of a test" not in result.stdout.str()


def test_a_line_is_for_those_who_have_a_terminal():
    progress.live_lines(config(workerinput={}))("never shown")
    progress.live_lines(SimpleNamespace(pluginmanager=SimpleNamespace(getplugin=lambda name: None)))("never shown")
