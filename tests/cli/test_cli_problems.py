"""`miopen-perf problems`, `solvers` and `devices`."""

import json

import pytest
from cli.conftest import KEY, LINE

from pytest_miopen_perf.measuring.memory import estimate_memory
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.problems import workload

PERF_KEY = "2x4x6x6x1x3x3x1x4x1x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"


def problems_json(outcome):
    return json.loads(outcome.out)["problems"]


def test_without_names_the_bundled_workloads_are_listed(run):
    counts = json.loads(run("problems", "--json").out)["bundled"]
    assert set(counts) == set(workload.bundled())
    table = run("problems").out
    assert all(name in table and str(count) in table for name, count in counts.items())


def test_a_line_is_told_in_full(run):
    (one,) = problems_json(run("problems", LINE, "--json"))
    (problem,) = ConvProblem.from_driver(LINE)
    memory = estimate_memory(problem, 0)
    assert one["driver"] == problem.to_driver()
    assert (one["flops"], one["times"], one["direction"]) == (problem.flops, 1, "F")
    assert (one["device_bytes"], one["host_bytes"]) == (memory.device_bytes, memory.host_bytes)
    assert (one["find_db_key"], one["perf_db_key"]) == (KEY, PERF_KEY)


@pytest.mark.parametrize("key", [KEY, PERF_KEY])
def test_a_key_is_as_good_as_a_line(run, key):
    outcome = run("problems", key, "--print", "lines")
    assert outcome.status == 0
    assert ConvProblem.from_driver(outcome.out.strip()) == ConvProblem.from_driver(LINE)


@pytest.mark.parametrize(("form", "text"), [("find-db", KEY), ("perf-db", PERF_KEY)])
def test_a_key_is_written_alone(run, form, text):
    assert run("problems", LINE, "--print", form) == (0, f"{text}\n", "")


def test_repeated_commands_are_counted_and_named_once(run):
    outcome = run("problems", "-", "--json", stdin=f"{LINE}\n" * 3 + f"# a comment\n{LINE} -n 2\n")
    assert [one["times"] for one in problems_json(outcome)] == [3, 1]


def test_a_file_a_workload_and_a_line_add_up(run, write):
    path = write(LINE, LINE, name="net.txt")
    outcome = run("problems", path, "smoke", LINE, "--json")
    count = len(workload.distinct(workload.read_workload(workload.bundled_path("smoke")).problems))
    found = problems_json(outcome)
    assert found[0]["times"] == 3
    assert len(found) == count + 1


def test_the_table_ends_with_a_sum(run):
    outcome = run("problems", LINE, LINE)
    assert outcome.out.splitlines()[0].split() == ["problem", "times", "GFLOP", "device", "host"]
    assert "1 problem, asked for 2 times" in outcome.out.splitlines()[-1]


def test_skipped_lines_are_told_with_their_reason(run, write):
    path = write(LINE, "MIOpenDriver bnorm -n 1", "rubbish", name="net.txt")
    outcome = run("problems", path, "--print", "lines")
    assert outcome.status == 1
    assert len(outcome.out.splitlines()) == 1
    assert [line.split(": ")[1] for line in outcome.err.splitlines()] == [f"{path}:2", f"{path}:3"]
    assert [line["line_number"] for line in json.loads(run("problems", path, "--json").out)["skipped"]] == [2, 3]


def test_an_empty_problem_computes_nothing(run):
    line = "MIOpenDriver conv -n 1 -c 4 -H 1 -W 1 -k 4 -y 3 -x 3 -F 1"
    assert "computes  nothing" in run("problems", line).out
    (one,) = problems_json(run("problems", line, "--json"))
    assert one["device_bytes"] is None
    assert one["empty_reason"]


def test_a_problem_without_a_key_is_told(run):
    line = "MIOpenDriver conv -m trans -n 1 -c 4 -H 1 -W 1 -k 4 -y 1 -x 1 -p 3 -q 3 -F 1"
    outcome = run("problems", line, "--print", "find-db")
    assert outcome.out == ""
    assert "has no key" in outcome.err
    assert problems_json(run("problems", line, "--json"))[0]["find_db_key"] is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_workload", "no bundled workload"),
        ("MIOpenDriver pool -n 1", "not a convolution"),
        ("MIOpenDriver conv -n", "has no value"),
        (KEY.replace("3x3", "9x9", 1), "is no key"),
    ],
)
def test_a_name_that_names_nothing_is_refused(run, name, words):
    outcome = run("problems", name)
    assert (outcome.status, outcome.out) == (2, "")
    assert words in outcome.err


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x02", b"\xff\xfe\xfa", b"rubbish\n"])
def test_a_stream_without_a_command_is_refused(run, data):
    outcome = run("problems", "-", stdin=data)
    assert outcome.status == 2
    assert "<stdin>" in outcome.err


# --- Solvers and devices ----------------------------------------------------------------------------------------------


def test_all_solvers_are_listed(run):
    listed = json.loads(run("solvers", "--json").out)["solvers"]
    assert {"HipConvNaiveFwd", "HipConvNaiveBwd", "HipConvNaiveWrw"} <= {one["solver"] for one in listed}
    assert all(one["id"] > 10000 for one in listed)
    table = run("solvers").out
    assert all(one["solver"] in table for one in listed)


def test_solvers_answer_for_a_problem(run):
    outcome = run("solvers", LINE, "--backend", "scripted", "--json")
    assert outcome.status == 0
    (problem,) = json.loads(outcome.out)["problems"]
    answers = {one["solver"]: one for one in problem["solvers"]}
    assert answers["HipConvNaiveFwd"]["applies"]
    assert not answers["HipConvNaiveBwd"]["applies"]
    assert "backward" in answers["HipConvNaiveBwd"]["refusal"]


def test_solvers_are_a_table_with_reasons(run):
    outcome = run("solvers", LINE, "--backend", "scripted", "--solver", "*Naive*")
    assert outcome.status == 0
    assert "HipConvNaiveFwd" in outcome.out
    assert "HipConvImplicitGemm" not in outcome.out
    assert "asked for" in outcome.out.splitlines()[-1]


def test_a_problem_that_no_solver_computes_is_a_finding(run):
    outcome = run("solvers", LINE, "--backend", "scripted", "--solver", "HipConvNaiveBwd")
    assert outcome.status == 1


def test_an_empty_problem_has_no_solver(run):
    outcome = run("solvers", "MIOpenDriver conv -n 1 -c 4 -H 1 -W 1 -k 4 -y 3 -x 3 -F 1", "--backend", "scripted")
    assert outcome.status == 1
    assert "nothing to" in outcome.out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["solvers", "--solver", "NoSuch*"], "no solver is called"),
        (["solvers", LINE, "--backend", "nonsense"], "no back-end is called"),
        (["solvers", LINE, "--backend", "scripted", "--device", "3"], "no scripted device 3"),
        (["solvers", LINE, "--backend", "scripted", "--device", "missing.json"], "missing.json"),
        (["devices", "--backend", "nonsense"], "no back-end is called"),
        (["devices", "--backend", "scripted", "--device", "missing.json"], "missing.json"),
    ],
)
def test_what_does_not_exist_is_told(run, words, text):
    outcome = run(*words)
    assert (outcome.status, outcome.out) == (2, "")
    assert text in outcome.err


def test_the_scripted_device_is_told(run):
    outcome = run("devices", "--backend", "scripted", "--json")
    assert outcome.status == 0
    (one,) = json.loads(outcome.out)["devices"]
    assert one["available"]
    assert one["device"]["backend"] == "scripted"
    assert run("devices", "--backend", "scripted").out.startswith("scripted: Scripted device")


def test_a_machine_without_a_device_is_a_finding(run, monkeypatch):
    monkeypatch.setenv("MIOPEN_PERF_CXX", "no-such-compiler")
    outcome = run("devices", "--json")
    assert outcome.status == 1
    answers = {one["backend"]: one for one in json.loads(outcome.out)["devices"]}
    assert not answers["cpu"]["available"]
    assert "no-such-compiler" in answers["cpu"]["reason"]
    assert answers["scripted"]["available"]
    assert "cpu: no device: " in run("devices").out
