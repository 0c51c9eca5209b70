"""A file of MIOpenDriver lines is a test file."""

import pytest
from plugin.conftest import LINE

FILE = """\
# three kinds of lines
MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 0
MIOpenDriver bnorm -n 1 -c 4 -H 6 -W 6
./bin/MIOpenDriver convfp16 -n 1 -c 8 -H 5 -W 5 -k 8 -y 1 -x 1 -F 1. -i 4 -s 1
MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1
MIOpenDriver conv --no_such_flag 3
"""


@pytest.fixture
def workload_file(pytester):
    path = pytester.path / "net.miopen.txt"
    path.write_text(FILE)
    return path.name


def test_one_item_a_line_and_direction_and_bad_lines_are_named_skips(run, workload_file):
    result = run(workload_file, "-rs")
    assert result.parseoutcomes() == {"passed": 5, "skipped": 2}
    text = result.stdout.str()
    assert "net.miopen.txt:3: line 3 of net.miopen.txt" in text
    assert "bnorm" in text
    assert "line 6 of net.miopen.txt" in text
    assert "no_such_flag" in text


def test_names_come_from_problems_and_repeated_ones_from_their_line(run, workload_file):
    result = run(workload_file, "--collect-only", "-q")
    assert [line.partition("::")[2] for line in result.outlines if "::" in line] == [
        "fp32-F-1x4x6x6-k4-3x3-p1",
        "fp32-B-1x4x6x6-k4-3x3-p1",
        "fp32-W-1x4x6x6-k4-3x3-p1",
        "line3",
        "fp16-F-1x8x5x5-k8-1x1",
        "fp32-F-1x4x6x6-k4-3x3-p1@line5",
        "line6",
    ]


def test_iterations_and_search_of_a_line_are_honoured(pytester, run, results):
    line = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1 -i 4 -s 1"
    (pytester.path / "one.miopen.txt").write_text(line + "\n")
    outcome = run("one.miopen.txt", "--miopen-perf-json=results.json", "--miopen-perf-tune-configs=3")
    assert outcome.parseoutcomes() == {"passed": 1}
    (case,) = results()["cases"]
    assert case["result"]["sample"]["count"] == 4
    assert len(case["result"]["tuning"][0]["trials"]) == 3


def test_what_lines_ask_for_in_vain_is_one_warning(pytester, run):
    (pytester.path / "net.miopen.txt").write_text(f"{LINE}\n{LINE} -b 1 -S 85\n{LINE} -b 1\n{LINE} -o 1\n")
    result = run("net.miopen.txt", "-Wdefault")
    assert result.parseoutcomes() == {"passed": 4, "warnings": 1}
    words = "line 2: -b (--bias) 1 has no effect here (and so has something of 2 further lines)"
    result.stdout.fnmatch_lines([f"*PerfWarning: net.miopen.txt: {words}"])


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "net.miopen.txt"),
        (b"# nothing\n", "net.miopen.txt"),
        (b"\xff\xfe\x00\x01\x02", "net.miopen.txt"),
        (b"hello\n", "hello"),
    ],
)
def test_a_file_without_convolutions_is_a_collection_error_in_one_sentence(pytester, run, content, what):
    (pytester.path / "net.miopen.txt").write_bytes(content)
    result = run()  # by its folder: a text file that is named is also looked at by pytest's doctest
    assert result.parseoutcomes() == {"errors": 1}
    assert what in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_patterns_of_the_ini_file_choose_the_files(pytester, run, workload_file):
    (pytester.path / "net.txt").write_text(FILE)
    assert run("--collect-only", "-q", "net.txt").ret != 0
    pytester.makeini("[pytest]\nmiopen_perf_files = net.txt\n")
    assert "net.txt::fp16-F-1x8x5x5-k8-1x1" in run("--collect-only", "-q", "net.txt").outlines


def test_a_wrong_result_fails_its_item_without_a_traceback(run, script, workload_file):
    result = run(workload_file, script(rules=[{"kernel": "*", "wrong": "nan"}]), "-k", "fp16")
    assert result.parseoutcomes() == {"failed": 1, "deselected": 6}
    text = result.stdout.str()
    assert "harness.py" not in text
    assert "reproduce: pytest net.miopen.txt::fp16-F-1x8x5x5-k8-1x1" in text


def test_last_failed_and_exit_first_work_on_items(run, script, workload_file):
    broken = script(rules=[{"kernel": "naive_conv_bwd", "wrong": "zeros"}])
    assert run(workload_file, broken, "-x").parseoutcomes()["failed"] == 1
    assert run(workload_file, broken, "--lf").parseoutcomes() == {"failed": 1, "deselected": 6}


def test_the_footer_counts_the_lines_of_a_file_that_were_skipped(run, workload_file):
    result = run(workload_file, "--miopen-perf-level=1", "-k", "fp16")
    result.stdout.fnmatch_lines([f"skipped  {workload_file}: 2 lines were skipped, line 3 because: *"])


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_the_footer_counts_the_lines_of_a_list_that_were_skipped(pytester, convolution_test, run, workers):
    (pytester.path / "list.txt").write_text(f"{LINE}\nMIOpenDriver pool -n 1\n")
    convolution_test("list.txt")
    result = run("--miopen-perf-level=1", *workers)
    result.stdout.fnmatch_lines(["skipped  list.txt: 1 line was skipped, line 2 because: *"])


def test_nothing_is_said_where_nothing_was_skipped(convolution_test, run):
    convolution_test(LINE)
    assert "skipped  " not in run("--miopen-perf-level=1").stdout.str()
