"""`miopen-perf show`, `check`, `validate` and `convert`, on logs and results files, sound and damaged."""

import csv
import io
import json
from pathlib import Path

import pytest
from cli.conftest import RUN
from driver.log_samples import (
    COMMAND,
    DRAFTS,
    S1,
    S9,
    S12,
    S13,
    S16,
    S21,
    VERIFIED,
    timed_run,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.cli.documents import document_or_log
from pytest_miopen_perf.report.results_file import results_document
from pytest_miopen_perf.report.results_reader import parse_results, results_fault
from pytest_miopen_perf.settings import Settings

TEXT = """\
MIOpenDriver conv -n 1 -c 3 -H 224 -W 224 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1
MIOpen Forward Conv. Algorithm: 5, Solution: 137/ConvHipImplicitGemmGroupFwdXdlops
GPU Kernel Time Forward Conv. Elapsed: 0.056871 ms (average)
stats: name, n, c, ho, wo, y, x, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs
stats: fwd-conv3x3u1, 1, 3, 224, 224, 3, 3, 64, 173408256, 609024, 12845056, 3049, 237, 0.056871
Forward Convolution Verifies OK on GPU reference (2.19793e-08 < 1.5e-06)
"""
SOLVER = "ConvHipImplicitGemmGroupFwdXdlops"


# --- show -------------------------------------------------------------------------------------------------------------


def test_a_log_is_shown_as_a_table(run, driver_log):
    outcome = run("show", driver_log)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0].split()[:3] == ["problem,", "solver,", "config"]
    assert SOLVER in outcome.out
    assert "AMD Instinct MI300X" in outcome.out
    assert "MIOpen 3.5.1, ROCm 7.1.25424" in outcome.out
    assert "times are what a log says" in outcome.out


def test_levels_of_a_table(run, driver_log):
    assert "find ConvDirectNaiveConvFwd" not in run("show", driver_log).out
    assert "find ConvDirectNaiveConvFwd" in run("show", driver_log, "--level", "3").out


def test_classic_text_is_shown_too(run, write):
    outcome = run("show", "-", stdin=TEXT)
    assert outcome.status == 0
    assert "56.9 us" in outcome.out
    assert SOLVER in outcome.out


def test_both_halves_of_a_log_are_one(run, write):
    halves = [line for line in RUN if not line.startswith('{"solution"')], [line for line in RUN if "solution" in line]
    out, err = write(*halves[0], name="out"), write(*[line for line in halves[1] if line[2] == "s"], name="err")
    assert run("show", out, "--stderr", err).out.replace(str(out), "") == run("show", "-", stdin="\n".join(RUN)).out


def test_a_results_file_is_shown_like_its_log(run, driver_log, results_file):
    table = run("show", driver_log).out.split("\n\n")[0]
    assert run("show", results_file).out.startswith(table)


def test_a_failed_case_is_a_finding(run, write):
    failed = VERIFIED.replace('"OK"', '"FAILED"').replace("2.19793e-08", "0.5")
    outcome = run("show", write(*timed_run(3, 2, 2, 2, verified=failed)))
    assert outcome.status == 1
    assert "WRONG" in outcome.out


def test_a_run_that_was_not_verified_shows_no_verdict(run, write):
    outcome = run("show", write(*timed_run(3, 2, 2, 2, verified=None)))
    assert outcome.status == 0
    assert next(line for line in outcome.out.splitlines() if SOLVER in line).endswith(" -")


def test_an_error_of_the_driver_is_shown(run, write):
    outcome = run("show", write(COMMAND, '{"error":"RunForwardGPU() FAILED, rc = 0x7"}'))
    assert outcome.status == 1
    assert "RunForwardGPU() FAILED" in outcome.out


def test_what_of_a_log_is_lost_is_told(run, write):
    outcome = run("show", write(*RUN, *S13[:1]))
    assert outcome.status == 1
    assert "1 corrupt piece;" in outcome.err


def test_of_a_cut_log_only_what_stands_there_is_shown(run):
    shown = run("show", "-", stdin="\n".join(RUN)[:300]).out
    assert "1 error" in shown
    assert not {"miopen;", "warm", "level", "seed"} & set(shown.replace(",", " ").split())


def test_the_seed_of_a_log_is_shown_where_it_is_told(run):
    assert "data     seed 12345678\n" in run("show", "-", stdin="\n".join(RUN)).out
    assert "data  " not in run("show", "-", stdin="\n".join(line for line in RUN if "prng_seed" not in line)).out


def test_rows_that_look_alike_say_where_they_stand(run, write):
    path = write(*RUN, *RUN, name="two.log")
    shown = run("show", path).out
    unfolded = "".join(shown.split())  # a table folds long paths
    assert [f"two.log:{line}" in unfolded for line in (1, 9)] == [True, True]
    assert "two.log" not in run("show", write(*RUN, name="one.log")).out


def test_an_interrupted_session_is_told(run, results_file):
    data = json.loads(results_file.read_text())
    data["complete"] = False
    outcome = run("show", "-", stdin=json.dumps(data))
    assert outcome.status == 1
    assert "interrupted" in outcome.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing in it is a measurement"),
        ("rubbish\n", "nothing in it is a measurement"),
        (f"{S1}\n", "is stdout in the log?"),
        ("\n".join(TEXT.splitlines()[1:]), "no command"),
        ("{}", "nothing in it is a measurement"),
        ('{"format": "pytest-miopen-perf verdicts"}', "give a results file or a log"),
        ('{"format": "something else"}', "give a results file or a log"),
        ('{"format": "pytest-miopen-perf results"', "is damaged"),
        ('{"format": "pytest-miopen-perf results", "version": 99}', "update pytest-miopen-perf"),
        ('{"format": "pytest-miopen-perf results", "version": 1}', "is damaged"),
    ],
)
@pytest.mark.parametrize("command", ["show", "convert"])
def test_what_holds_no_measurement_is_refused(run, command, text, words):
    outcome = run(command, "-", stdin=text)
    assert (outcome.status, outcome.out) == (2, "")
    assert words in outcome.err
    assert "<stdin>" in outcome.err


# --- check ------------------------------------------------------------------------------------------------------------


def test_a_sound_log_has_no_warning(run, write):
    outcome = run("check", write(*timed_run(3, 2, 2, 2)))
    assert outcome.status == 0
    assert "4 records" in outcome.out.splitlines()[-1]


def test_findings_have_place_severity_and_code(run, write):
    path = write(*timed_run(3, 2, 2, 2), S16, S21)
    outcome = run("check", path)
    assert outcome.status == 1
    assert all(line.startswith(f"{path}:") and line.endswith("]") for line in outcome.out.splitlines()[:-1])
    found = json.loads(run("check", path, "--json").out)
    assert {"warning", "error"} <= {finding["severity"] for finding in found["findings"]}
    assert found["counts"]["record"] == 6


def test_the_level_that_was_asked_for_is_read_as_miopen_reads_it(run, write):
    path = write(*timed_run(3, 2, 2, 2))
    assert run("check", path, "--level", "0x1").status == 0
    codes = {finding["code"] for finding in json.loads(run("check", path, "--level", "2", "--json").out)["findings"]}
    assert "level-mismatch" in codes


def test_classic_text_is_checked_too(run):
    assert run("check", "-", stdin=TEXT).status == 0
    wrong = TEXT.replace("Verifies OK on GPU reference (2.19793e-08 < 1.5e-06)", "FAILED: 0.5 > 1.5e-06")
    outcome = run("check", "-", stdin=wrong)
    assert outcome.status == 1
    assert "verification-failed" in outcome.out


def test_commands_that_the_library_logs_are_no_runs(run, write):
    logged = "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1 -c 3 -H 8 -W 8 -k 4 -F 1 -t 1"
    outcome = run("check", write(logged, *timed_run(3, 2, 2, 2), "MIOpenDriver conv -n 1 -F 1"))
    assert (outcome.status, len(outcome.out.splitlines())) == (0, 1)


@pytest.mark.parametrize(
    ("text", "held"), [("", "it is empty"), ("rubbish\n", "1 other line"), ("a\nb\n", "2 other lines")]
)
def test_what_is_no_log_is_not_called_clean(run, text, held):
    outcome = run("check", "-", stdin=text)
    assert (outcome.status, outcome.out) == (1, f"<stdin> holds no record of a performance log ({held})\n")


def test_a_clean_log_has_found_nothing(run, write):
    outcome = run("check", write(*timed_run(3, 2, 2, 2)))
    assert outcome.out == "found nothing in 4 records\n"


def test_a_results_file_is_no_log(run, results_file):
    outcome = run("check", results_file)
    assert outcome.status == 2
    assert "give a performance log" in outcome.err


# --- validate ---------------------------------------------------------------------------------------------------------


def test_valid_lines_are_counted_by_kind(run, driver_log):
    outcome = run("validate", driver_log)
    assert outcome.status == 0
    assert "2 solution" in outcome.out
    (verdict,) = json.loads(run("validate", driver_log, "--json").out)["files"]
    assert (verdict["faults"], sum(verdict["valid"].values())) == (0, len(RUN))


@pytest.mark.parametrize("line", [S9, S12, S13[0], DRAFTS[0], '{"solution":1}', '{"other":1}', VERIFIED[:-1]])
def test_what_is_no_valid_line_is_a_fault(run, write, line):
    path = write(*RUN, line)
    outcome = run("validate", path)
    (verdict,) = json.loads(run("validate", path, "--json").out)["files"]
    if line == S12:  # two sound records behind a prefix
        assert (outcome.status, verdict["faults"]) == (0, 0)
        return
    assert outcome.status == 1
    assert verdict["faults"] >= 1
    assert verdict["told"][0]["line"] == len(RUN) + 1
    assert f"{path}:{len(RUN) + 1}: " in outcome.out


def test_text_between_the_records_is_no_fault(run, write):
    outcome = run("validate", write("MIOpen(HIP): Info [Find] x", *RUN))
    assert outcome.status == 0
    assert "1 other lines" in outcome.out


def test_faults_are_told_up_to_a_limit_and_counted(run, write):
    path = write(*['{"solution":1}'] * 7)
    outcome = run("validate", path, "--most", "2")
    assert len(outcome.out.splitlines()) == 4
    assert "5 more" in outcome.out
    assert "faults: 7" in outcome.out


def test_a_results_file_has_a_schema_of_its_own(run, results_file):
    assert run("validate", results_file).status == 0
    data = json.loads(results_file.read_text())
    data["cases"][0]["outcome"] = "well"
    outcome = run("validate", "-", stdin=json.dumps(data))
    assert outcome.status == 1
    assert "$.cases[0].outcome" in outcome.out


def test_several_files_are_judged_one_by_one(run, write, driver_log):
    bad = write("rubbish", name="bad.log")
    outcome = run("validate", driver_log, bad)
    assert outcome.status == 1
    assert len(outcome.out.splitlines()) == 2


# --- convert ----------------------------------------------------------------------------------------------------------


def test_a_log_becomes_a_results_file_that_fits_its_schema(run, driver_log):
    data = json.loads(run("convert", driver_log).out)
    assert results_fault(data) == ""
    assert data["versions"]["MIOpen"] == "3.5.1"
    assert data["environment"]["MIOPEN_FIND_MODE"] == "5"
    (case,) = data["cases"]
    assert case["result"]["sample"]["seconds"][:2] == [0.00512, 0.0019]


def test_what_a_log_does_not_tell_is_null(run, driver_log):
    result = json.loads(run("convert", driver_log).out)["cases"][0]["result"]
    names = ("cache_mode", "tune", "data", "compile_seconds", "first_launch_seconds", "workspace_bytes")
    assert {name: result[name] for name in names} == dict.fromkeys(names)
    assert result["circumstances"]["launch_mode"] is None
    assert (result["device"]["compute_units"], result["device"]["max_grid"]) == (None, None)


def test_host_names_do_not_pass(run, driver_log):
    text = driver_log.read_text().replace('"hostname":"h1"', '"hostname":"secret-host"')
    for words in (["--csv"], [], ["--json"]):
        assert "secret-host" not in run("convert", "-", *words, stdin=text).out


def test_a_results_file_survives_its_conversion(run, results_file):
    again = run("convert", results_file).out
    before, after = (parse_results(text, "x") for text in (results_file.read_text(), again))
    assert after == before


def test_csv_has_one_row_a_case(run, driver_log):
    (row,) = csv.DictReader(io.StringIO(run("convert", driver_log, "--csv").out))
    assert (row["solver"], row["outcome"], row["check"], row["executions"]) == (SOLVER, "passed", "right", "8")
    assert float(row["median_ms"]) == pytest.approx(1.505)
    assert float(row["miopen_time_ms"]) == pytest.approx(1.50429)


def test_csv_of_a_failed_run_has_its_message(run, write):
    path = write(COMMAND, '{"error":"a, \\"b\\""}')
    (row,) = csv.DictReader(io.StringIO(run("convert", path, "--csv").out))
    assert (row["outcome"], row["message"], row["solver"]) == ("error", 'a, "b"', "")


def test_an_output_that_cannot_be_written_leaves_nothing(run, driver_log, tmp_path):
    outcome = run("convert", driver_log, "-o", tmp_path / "no" / "such" / "folder")
    assert outcome.status == 2
    assert "cannot be written" in outcome.err


def test_csv_and_json_exclude_each_other(run, driver_log):
    assert run("convert", driver_log, "--csv", "--json").status == 2


def test_a_log_has_neither_settings_nor_versions_of_the_reader(run, driver_log):
    data = json.loads(run("convert", driver_log).out)
    assert data["settings"] is None
    assert set(data["versions"]) == {"MIOpen", "ROCm", "amdgpu"}


def test_a_results_file_keeps_its_settings_and_versions(run, tmp_path, driver_log):
    data = json.loads(run("convert", driver_log).out)
    stated = results_document([], Settings(level=3, seed=5), is_complete=True)["settings"]
    versions = {"pytest-miopen-perf": "0.0.1", "python": "3.10.0"}
    path = tmp_path / "own.json"
    path.write_text(json.dumps({**data, "settings": stated, "versions": versions}))
    again = json.loads(run("convert", path).out)
    assert (again["settings"], again["versions"]) == (stated, versions)
    assert "data     seed 5, miopen; caches warm; level 3" in run("show", path).out


def test_a_log_is_not_read_ahead():
    class Stream(io.BytesIO):
        def read(self, size=-1):
            assert size is not None
            assert size > 0, "the whole of a log may not fit into the memory"
            return super().read(size)

    stream = Stream("\n".join(RUN).encode())
    assert document_or_log(stream, "x") is stream
    assert stream.tell() == 0


# --- Any bytes --------------------------------------------------------------------------------------------------------

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.sampled_from(["show", "check", "validate", "convert"]),
    start=st.integers(0, 4000),
    junk=st.binary(max_size=40),
    cut=st.integers(0, 6000),
)
def test_no_damaged_log_breaks_a_command(run, command, start, junk, cut):
    data = ("\n".join(RUN) + "\n" + TEXT).encode()
    damaged = (data[:start] + junk + data[start + len(junk) :])[: max(1, cut)]
    outcome = run(command, "-", stdin=damaged)
    assert outcome.status in (0, 1, 2)
    assert outcome.out or outcome.err


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=st.sampled_from(["show", "check", "validate", "convert"]), data=st.binary(max_size=200))
def test_no_bytes_break_a_command(run, command, data):
    assert run(command, "-", stdin=data).status in (0, 1, 2)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=st.sampled_from(["show", "validate", "convert"]), data=st.data())
def test_no_damaged_results_file_breaks_a_command(run, results_file, command, data):
    text = results_file.read_text()
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    damaged = text[:start] + data.draw(st.text(max_size=6)) + text[end:]
    assert run(command, "-", stdin=damaged.encode("utf-8", "surrogatepass")).status in (0, 1, 2)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="no samples here")
def test_the_outputs_that_people_posted_are_read(run):
    path = SAMPLES / "driver_logs.txt"
    assert run("show", path).status == 1
    assert len(list(csv.DictReader(io.StringIO(run("convert", path, "--csv").out)))) == 2
    codes = {finding["code"] for finding in json.loads(run("check", path, "--json").out)["findings"]}
    assert {"verification-failed", "run-failed"} <= codes
