"""What all subcommands share: help, exit codes, pipes, start-up."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_miopen_perf import __version__, cli
from pytest_miopen_perf.cli import make_parser
from pytest_miopen_perf.cli.screen import Screen
from pytest_miopen_perf.cli.subcommand import Group
from pytest_miopen_perf.errors import InputError
from pytest_miopen_perf.report.text_table import Column, table_lines


def subcommands():
    """Every subcommand and the words that choose it."""
    for name in cli.SUBCOMMANDS:
        found = cli._subcommand(name)
        if isinstance(found, Group):
            yield from (((name, one.name), one) for one in found.subcommands)
        else:
            yield (name,), found


ALL = list(subcommands())
IDS = [" ".join(words) for words, _ in ALL]


def python(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "pytest_miopen_perf", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_the_help_lists_every_command(run):
    outcome = run("--help")
    assert outcome.status == 0
    assert all(re.search(rf"^    {name}\s", outcome.out, re.MULTILINE) for name in cli.SUBCOMMANDS)
    assert "exit codes:\n  0  fine" in outcome.out


@pytest.mark.parametrize(("words", "subcommand"), ALL, ids=IDS)
def test_every_command_has_help_with_examples_and_exit_codes(run, words, subcommand):
    outcome = run(*words, "--help")
    assert outcome.status == 0
    assert all(
        text in outcome.out for text in ("examples:", "exit codes:\n  0  fine\n  1  ", "--json", subcommand.findings)
    )
    assert max(map(len, outcome.out.splitlines())) <= 100


@pytest.mark.parametrize(("words", "subcommand"), ALL, ids=IDS)
def test_every_example_is_a_command(words, subcommand):
    for example, meaning in subcommand.examples:
        assert meaning
        for part in example.split(" | "):
            split = shlex.split(part.split(" > ")[0])
            while split and "=" in split[0]:
                split.pop(0)
            if split[0] == "miopen-perf":
                arguments = make_parser().parse_args(split[1:])
                assert arguments.run is subcommand.run


def test_no_command_is_wrong_usage(run):
    outcome = run()
    assert (outcome.status, outcome.out) == (2, "")
    assert "usage: miopen-perf" in outcome.err


def test_a_group_without_a_command_shows_its_own_help(run):
    outcome = run("db")
    assert outcome.status == 2
    assert "usage: miopen-perf db" in outcome.err


@pytest.mark.parametrize("words", [["nonsense"], ["show"], ["problems", "--nonsense"], ["show", "x", "--level", "9"]])
def test_wrong_usage_is_told_and_is_exit_code_2(run, words):
    outcome = run(*words)
    assert (outcome.status, outcome.out) == (2, "")
    assert "usage:" in outcome.err


def test_the_version(run):
    assert run("--version").out == f"miopen-perf {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["show", "MISSING"],
        ["check", "MISSING"],
        ["validate", "MISSING"],
        ["convert", "MISSING"],
        ["compare", "MISSING", "MISSING"],
        ["problems", "MISSING"],
        ["solvers", "MISSING"],
        ["db", "lint", "MISSING"],
        ["db", "merge", "MISSING"],
        ["db", "diff", "MISSING", "MISSING"],
        ["db", "coverage", "MISSING", "smoke"],
    ],
)
def test_a_missing_file_is_one_sentence_on_stderr(run, words):
    outcome = run(*words)
    assert (outcome.status, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith("miopen-perf: ")
    assert "MISSING" in line


@pytest.mark.parametrize("words", [["show"], ["check"], ["validate"], ["convert"], ["db", "merge"], ["problems"]])
def test_a_folder_is_no_file(run, words, tmp_path):
    outcome = run(*words, tmp_path)
    assert outcome.status == 2
    assert "Is a directory" in outcome.err


@pytest.mark.parametrize(
    "words", [["validate", "-", "-"], ["compare", "-", "-"], ["problems", "-", "-"], ["show", "-", "--stderr", "-"]]
)
def test_standard_input_can_be_named_once(run, words):
    outcome = run(*words)
    assert outcome.status == 2
    assert "once" in outcome.err


# --- Errors that no command means -------------------------------------------------------------------------------------


def test_an_interrupt_ends_quietly(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_miopen_perf.problems.workload.bundled", interrupted)
    assert run("problems") == (130, "", "")


def test_an_error_of_ours_is_its_sentence(run, monkeypatch):
    def refused(*_):
        raise InputError("it is so")

    monkeypatch.setattr("pytest_miopen_perf.problems.workload.bundled", refused)
    assert run("problems") == (2, "", "miopen-perf: it is so\n")


def test_an_error_in_the_program_is_not_hidden(run, monkeypatch):
    monkeypatch.setattr("pytest_miopen_perf.problems.workload.bundled", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("problems")


# --- Processes and pipes ----------------------------------------------------------------------------------------------


def test_the_module_runs_as_a_program():
    outcome = python("problems", "smoke", "--print", "lines")
    assert outcome.returncode == 0
    assert outcome.stdout.startswith("MIOpenDriver ")


def test_commands_work_in_a_pipe():
    lines = python("problems", "smoke", "--print", "lines")
    again = python("problems", "-", "--json", input=lines.stdout)
    assert again.returncode == 0
    assert len(json.loads(again.stdout)["problems"]) == len(lines.stdout.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["problems", "mlperf_resnet50_v1_5", "--json"], id="more than a pipe holds"),
        pytest.param(["problems", "--json"], id="so little that it is written at the exit"),
        pytest.param(["--version"], id="what argparse writes"),
    ],
)
def test_a_reader_that_leaves_is_no_error(words):
    program = subprocess.Popen(
        [sys.executable, "-m", "pytest_miopen_perf", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    with program:
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_told():
    with Path("/dev/full").open("w") as full:
        outcome = subprocess.run(
            [sys.executable, "-m", "pytest_miopen_perf", "problems"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("miopen-perf: the output cannot be written")
    assert len(outcome.stderr.splitlines()) == 1


def with_closed_streams(closed, *words):
    """The program as a shell starts it with `closed`, such as `>&-`; what else it says comes back."""
    command = f"{shlex.join([sys.executable, '-m', 'pytest_miopen_perf', *words])} {closed}"
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("words", [["show", "-"], ["validate", "-"], ["db", "lint", "-"], ["problems", "-"]])
def test_a_closed_input_is_told(words):
    outcome = with_closed_streams("<&-", *words)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr == "miopen-perf: <stdin> cannot be read: standard input is closed; name a file\n"


def test_a_closed_input_that_nobody_reads_is_no_error():
    assert with_closed_streams("<&-", "--version").returncode == 0


def test_a_closed_output_is_told():
    outcome = with_closed_streams(">&-", "problems", "smoke")
    assert outcome.returncode == 2
    assert outcome.stderr == "miopen-perf: the output cannot be written: Bad file descriptor\n"


def test_a_closed_output_that_nothing_is_written_to_is_no_error(driver_log, tmp_path):
    outcome = with_closed_streams(">&-", "convert", str(driver_log), "-o", str(tmp_path / "results.json"))
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert json.loads((tmp_path / "results.json").read_text())["cases"]


def test_closed_remarks_are_dropped():
    outcome = with_closed_streams("2>&-", "show", "/nowhere")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (2, "", "")
    assert with_closed_streams("<&- >&- 2>&-", "doctor").returncode == 2


@pytest.mark.parametrize("words", [["--help"], ["problems", "--help"], ["db", "lint", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(words):
    program = f"""
import sys
from pytest_miopen_perf.cli import main
status = main({words!r})
print(sorted({{name.split(".")[0] for name in sys.modules}} & {{"numpy", "jsonschema", "rich", "scipy", "pytest"}}))
sys.exit(status)
"""
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ast.literal_eval(outcome.stdout.splitlines()[-1]) == []


def test_problems_need_neither_numpy_nor_jsonschema():
    program = """
import sys
from pytest_miopen_perf.cli import main
main(["problems", "smoke", "--print", "lines"])
print(sorted({name.split(".")[0] for name in sys.modules} & {"numpy", "jsonschema", "rich", "scipy", "pytest"}))
"""
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ast.literal_eval(outcome.stdout.splitlines()[-1]) == []


# --- The screen -------------------------------------------------------------------------------------------------------


def test_there_is_no_colour_in_a_pipe(run, driver_log):
    for words in (["show", driver_log], ["check", driver_log], ["doctor", "MIOPEN_FIND_MODE=x"], ["problems", "smoke"]):
        assert "\x1b" not in run(*words).out


class _Terminal:
    """A stream that says it is a terminal."""

    def isatty(self):
        return True

    def write(self, text):
        return len(text)

    def flush(self):
        pass


@pytest.mark.parametrize(
    ("variables", "has_colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_that_want_it(monkeypatch, variables, has_colour):
    monkeypatch.setattr("sys.stdout", _Terminal())
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Screen.of_this_process().has_colour is has_colour


def test_a_screen_is_never_narrower_than_a_few_words(monkeypatch):
    monkeypatch.setenv("COLUMNS", "3")
    assert Screen.of_this_process().width == 40


def test_a_name_that_no_encoding_has_is_shown_escaped(run, write):
    outcome = run("doctor", "MIOPEN_USER_DB_PATH=/tmp/\udcff")
    assert outcome.status == 0
    assert "udcff" in outcome.out


def test_a_table_keeps_its_cells_and_its_width():
    columns = (Column("name", folds=True), Column("size", "right"))
    lines = table_lines(columns, [("a" * 60, "1"), ("b", "22")], width=40, has_colour=False)
    assert lines[0].split() == ["name", "size"]
    assert max(map(len, lines)) <= 40
    assert "".join(line.split()[0] for line in lines[1:-1]) == "a" * 60
    assert lines[-1].split() == ["b", "22"]


def test_a_table_colours_cells_by_their_text():
    plain = table_lines((Column("state"),), [("bad",)], width=40, has_colour=False, styles={"bad": "red"})
    coloured = table_lines((Column("state"),), [("bad",)], width=40, has_colour=True, styles={"bad": "red"})
    assert plain[-1] == "bad"
    assert "\x1b[31m" in coloured[-1]
