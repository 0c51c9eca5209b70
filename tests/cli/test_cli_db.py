"""`miopen-perf db lint`, `merge`, `diff` and `coverage`."""

import bz2
import json

import pytest
from cli.conftest import KEY, LINE

FIND = (
    f"{KEY}=GemmFwdRest:0.2,5184,miopenConvolutionFwdAlgoGEMM;"
    "ConvDirectNaiveConvFwd:0.1,0,miopenConvolutionFwdAlgoDirect"
)
SLOW = FIND.replace(":0.1,", ":0.3,").replace(":0.2,", ":0.6,")
OTHER = FIND.replace(":0.1,", ":0.9,")
PERF = "2x4x6x6x1x3x3x1x4x1x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=ConvBinWinogradRxSf2x3:215"


@pytest.fixture
def find_db(write):
    return write(FIND, name="a.ufdb.txt")


# --- lint -------------------------------------------------------------------------------------------------------------


def test_a_sound_data_base_has_no_finding(run, find_db):
    outcome = run("db", "lint", find_db)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == f"{find_db}: 1 record, 2 solvers in them, 0 lines lost: 0 errors, 0 warnings, 0 info\n"


def test_a_folder_stands_for_the_data_bases_in_it(run, find_db, write):
    bad = write("no record", name="b.fdb.txt")
    outcome = run("db", "lint", find_db.parent, find_db)
    assert outcome.status == 1
    assert [line.split(":")[0] for line in outcome.out.splitlines()] == [str(find_db), str(bad), str(bad)]


def test_a_folder_without_data_bases_is_wrong_usage(run, tmp_path):
    outcome = run("db", "lint", tmp_path)
    assert outcome.status == 2
    assert "holds no data base" in outcome.err


def test_findings_have_a_place_and_a_code(run, write):
    path = write(FIND, "no record", FIND, name="a.ufdb.txt")
    outcome = run("db", "lint", path)
    assert outcome.status == 1
    assert outcome.out.splitlines()[0].startswith(f"{path}:2: error: ")
    (report,) = json.loads(run("db", "lint", path, "--json").out)["files"]
    assert report["counts"] == {"no-key": 1, "duplicate-key": 1}
    assert [finding["line"] for finding in report["findings"]] == [2, 3]


def test_findings_are_told_up_to_a_limit_and_counted(run, write):
    outcome = run("db", "lint", write(FIND, *["rubbish"] * 9, name="a.ufdb.txt"), "--most", "2")
    assert outcome.out.count("no-key]") == 2
    assert "7 more findings of the kind no-key" in outcome.out


@pytest.mark.parametrize("pack", [bytes, bz2.compress])
def test_standard_input_is_a_data_base_too(run, pack):
    outcome = run("db", "lint", "-", stdin=pack(f"{FIND}\nrubbish\n".encode()))
    assert outcome.status == 1
    assert outcome.out.startswith("<stdin>:2: error: ")


@pytest.mark.parametrize("data", [b"", b"\x00" * 99, b"rubbish\n", bytes(range(256))])
def test_what_is_no_data_base_is_refused(run, data):
    outcome = run("db", "lint", "-", stdin=data)
    assert (outcome.status, outcome.out) == (2, "")
    assert len(outcome.err.splitlines()) == 1


# --- merge ------------------------------------------------------------------------------------------------------------


def test_a_merge_keeps_the_best_and_lists_the_rest(run, write):
    first, second = write(SLOW, name="a.ufdb.txt"), write(FIND, name="b.ufdb.txt")
    outcome = run("db", "merge", first, second)
    assert outcome.status == 1
    assert outcome.out == f"{FIND}\n"
    assert f"kept 0.1 ms of {second}:1; dropped 0.3 ms of {first}:1" in outcome.err
    assert outcome.err.splitlines()[-1] == "miopen-perf: 1 record, 2 conflicts, 0 unreadable"


def test_a_merge_without_conflict_is_fine(run, find_db):
    outcome = run("db", "merge", find_db, find_db)
    assert (outcome.status, outcome.out) == (0, f"{FIND}\n")


def test_a_merge_is_written_all_or_nothing(run, write, tmp_path):
    path = tmp_path / "merged.ufdb.txt"
    outcome = run("db", "merge", write(FIND, name="a.ufdb.txt"), write(SLOW, name="b.ufdb.txt"), "-o", path, "--json")
    assert path.read_text() == f"{FIND}\n"
    data = json.loads(outcome.out)
    assert (data["records"], len(data["conflicts"])) == (1, 2)
    assert data["conflicts"][0]["kept"]["value"] in ("0.1 ms", "0.2 ms")
    assert run("db", "merge", path, "-o", tmp_path / "no" / "folder").status == 2


def test_what_cannot_be_read_is_told(run, write):
    outcome = run("db", "merge", write(FIND, "rubbish", name="a.ufdb.txt"))
    assert outcome.status == 1
    assert "a.ufdb.txt:2: " in outcome.err


def test_json_of_a_merge_needs_a_file_for_the_records(run, find_db):
    outcome = run("db", "merge", find_db, "--json")
    assert (outcome.status, outcome.out) == (2, "")


def test_kinds_are_not_mixed(run, find_db, write):
    outcome = run("db", "merge", find_db, write(PERF, name="a.udb.txt"))
    assert outcome.status == 2
    assert "perf-db" in outcome.err


def test_configs_of_a_perf_db_are_told(run, write):
    newer = PERF.replace("215", "304")
    outcome = run("db", "merge", write(PERF, name="a.udb.txt"), write(newer, name="b.udb.txt"))
    assert outcome.out == f"{newer}\n"
    assert "kept 304" in outcome.err


# --- diff -------------------------------------------------------------------------------------------------------------


def test_equal_data_bases_do_not_differ(run, find_db):
    outcome = run("db", "diff", find_db, find_db)
    assert outcome.status == 0
    assert "geometric mean of new over old 1" in outcome.out


def test_a_slower_problem_is_told(run, find_db, write):
    new = write(SLOW, name="b.ufdb.txt")
    outcome = run("db", "diff", find_db, new)
    assert outcome.status == 1
    assert "slower" in outcome.out
    assert "1 slower" in outcome.out
    (one,) = json.loads(run("db", "diff", find_db, new, "--json").out)["differences"]
    assert (one["ratio"], one["change"], one["winner"]) == (pytest.approx(3), "slower", "same")


def test_a_changed_winner_is_told(run, find_db, write):
    outcome = run("db", "diff", find_db, write(OTHER, name="b.ufdb.txt"))
    assert "ConvDirectNaiveConvFwd -> GemmFwdRest" in " ".join(outcome.out.split())


def test_a_winner_that_really_changed_is_told_although_the_time_did_not(run, find_db, write):
    swapped = FIND.replace(":0.1,", ":x,").replace(":0.2,", ":0.1,").replace(":x,", ":0.2,")
    outcome = run("db", "diff", find_db, write(swapped, name="b.ufdb.txt"))
    assert outcome.status == 1
    assert "1 same" in outcome.out
    assert "1 winners changed" in outcome.out


def test_the_noise_decides_what_differs(run, find_db, write):
    new = write(FIND.replace(":0.1,", ":0.104,"), name="b.ufdb.txt")
    assert run("db", "diff", find_db, new).status == 0
    assert run("db", "diff", find_db, new, "--noise", "1%").status == 1
    assert run("db", "diff", find_db, new, "--noise", "none").status == 2


def test_keys_of_one_side_are_counted(run, find_db, write):
    outcome = run("db", "diff", find_db, write(FIND.replace("4-6-6-3x3", "4-6-7-3x3", 1), name="b.ufdb.txt"))
    assert outcome.status == 1
    assert "1 only in the old one, 1 only in the new one" in outcome.out


def test_configs_are_compared(run, write):
    old, new = write(PERF, name="a.udb.txt"), write(PERF.replace("215", "304"), name="b.udb.txt")
    outcome = run("db", "diff", old, new)
    assert outcome.status == 1
    assert outcome.out.splitlines()[1:3] == ["  - 215", "  + 304"]
    assert json.loads(run("db", "diff", old, new, "--json").out)["kind"] == "perf-db"
    assert run("db", "diff", old, old).status == 0


def test_only_data_bases_of_one_kind_are_compared(run, find_db, write):
    assert run("db", "diff", find_db, write(PERF, name="a.udb.txt")).status == 2


# --- coverage ---------------------------------------------------------------------------------------------------------


def test_a_known_problem_is_covered(run, find_db):
    outcome = run("db", "coverage", find_db, LINE)
    assert outcome.status == 0
    assert "100.0% of 1 problem: 1 covered; 1 record" in outcome.out


def test_what_is_missing_can_be_tuned_from_the_lines(run, find_db):
    other = f"{LINE} -n 9"
    outcome = run("db", "coverage", find_db, LINE, other, "--print", "lines")
    assert outcome.status == 1
    assert "-n 9 " in outcome.out
    assert len(outcome.out.splitlines()) == 1
    again = run("db", "coverage", find_db, "-", "--json", stdin=outcome.out)
    assert json.loads(again.out)["problems"][0]["state"] == "missing"


def test_a_time_that_is_none_covers_nothing(run, write):
    path = write(FIND.replace(":0.1,", ":0.0,").replace(":0.2,", ":nan,"), name="a.ufdb.txt")
    assert "1 unmeasured" in run("db", "coverage", path, LINE).out


def test_skipped_lines_and_faults_are_told(run, write):
    path = write(FIND, "rubbish", name="a.ufdb.txt")
    outcome = run("db", "coverage", path, write(LINE, "no command", name="net.txt"))
    assert outcome.status == 1
    assert "a.ufdb.txt:2: " in outcome.err
    assert "net.txt:2: skipped" in outcome.err
