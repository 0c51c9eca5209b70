"""Processes of a paired comparison as inner sessions of this one: a round in a tenth of the time."""

import contextlib
import sys

import pytest

OPTIONS = ("--import-mode=importlib", "-p", "no:hypothesispytest", "-p", "no:unraisableexception")
"""What a process of its own would have for nothing: the last one spares a collection of the whole heap, twice."""


def run_inside(monkeypatch):
    """What stands in for `ab.processes.run_to_end`."""

    def finished(command, variables, log, folder=None):
        with (
            log.open("w") as output,
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
            monkeypatch.context() as patch,
        ):
            if folder is not None:
                patch.chdir(folder)
            for name, value in variables.items():
                patch.setenv(name, value)
            try:
                return int(pytest.main([*command[3:], *OPTIONS]))
            finally:
                # A test file of the same name in another folder is another one.
                for name in [name for name in sys.modules if name.startswith("test_conv")]:
                    del sys.modules[name]

    return finished
