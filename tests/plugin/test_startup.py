"""With the plugin installed and unused, pytest starts as before; `--collect-only` starts no process."""

import ast
import subprocess
import sys

import pytest

HEAVY = ["numpy", "scipy", "jsonschema", "rich", "hip", "cuda", "filelock"]
PROBE = f"""
import atexit, sys

@atexit.register
def report():
    print("HEAVY", sorted(set(sys.modules) & set({HEAVY})))
    print("OURS", sorted(name for name in sys.modules if name.startswith("pytest_miopen_perf.")))
"""


def run_pytest(pytester, *arguments):
    """A session of its own process with this plugin alone: another plugin's imports are not ours."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", "-p", "no:xdist", *arguments],
        cwd=pytester.path,
        capture_output=True,
        text=True,
        check=False,
    )


def loaded(result, word):
    (line,) = [line for line in result.stdout.splitlines() if line.startswith(word)]
    return line


def test_an_unused_plugin_loads_nothing_heavy_and_none_of_our_layers(pytester):
    pytester.makeconftest(PROBE)
    pytester.makepyfile("def test_nothing(): pass")
    result = run_pytest(pytester)
    assert result.returncode == 0, result.stderr
    assert loaded(result, "HEAVY") == "HEAVY []"
    ours = ast.literal_eval(loaded(result, "OURS").removeprefix("OURS "))
    assert {name.split(".")[1] for name in ours} == {"controller", "hookspec", "options", "plugin"}
    assert "miopen-perf:" not in result.stdout


def test_an_empty_run_prints_nothing_of_ours(pytester):
    result = run_pytest(pytester)
    assert result.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "miopen" not in result.stdout.replace("plugins: miopen-perf", "")


def test_collect_only_starts_no_process_and_loads_no_numpy(pytester, convolution_test):
    pytester.makeconftest(
        PROBE
        + """
import os, subprocess

def refuse(*arguments, **named):
    raise AssertionError("a process was started")

subprocess.Popen = os.fork = os.posix_spawn = refuse
"""
    )
    convolution_test("smoke")
    result = run_pytest(pytester, "--collect-only", "-q", "--miopen-perf-level=4", "-s")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("::") > 40
    assert "numpy" not in loaded(result, "HEAVY")
