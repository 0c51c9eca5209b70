"""Inner sessions run on the scripted device: no compiler, no hardware, times from a script."""

import json

import pytest
from inner_sessions import import_all

import_all()

LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"


@pytest.fixture(autouse=True)
def _no_level_variable(monkeypatch):
    monkeypatch.delenv("MIOPEN_PERFORMANCE_LOGS", raising=False)


@pytest.fixture
def convolution_test(pytester):
    """One test over the problems of the marker, in the inner session's folder."""

    def make(*lines, arguments="", body="miopen_perf(conv_problem)"):
        problems = list(lines) or [LINE]
        pytester.makepyfile(
            test_conv=f"""
            import pytest

            @pytest.mark.miopen_perf(problems={problems!r}, {arguments})
            def test_conv(miopen_perf, conv_problem):
                {body}
            """
        )

    return make


@pytest.fixture
def script(pytester):
    """Write a script for the scripted device; its name is the option's value."""

    def make(**content):
        path = pytester.path / "script.json"
        path.write_text(json.dumps(content))
        return f"--miopen-perf-device={path}"

    return make


@pytest.fixture
def run(pytester):
    """Run the inner session on the scripted device."""

    def make(*arguments):
        return pytester.runpytest("--miopen-perf-backend=scripted", *arguments)

    return make


@pytest.fixture
def log_lines(pytester):
    """The decoded lines of the log that an inner session wrote with `--miopen-perf-log=log.jsonl`."""

    def read():
        return [json.loads(line) for line in (pytester.path / "log.jsonl").read_text().splitlines()]

    return read


@pytest.fixture
def results(pytester):
    """The results file that an inner session wrote with `--miopen-perf-json=results.json`."""

    def read():
        return json.loads((pytester.path / "results.json").read_text())

    return read
