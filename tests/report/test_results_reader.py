"""A results file comes back as it was written, or says what is wrong with it."""

import json

import pytest

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.errors import InputError
from pytest_miopen_perf.report.results_file import results_document, write_results
from pytest_miopen_perf.report.results_reader import parse_results, results_fault
from pytest_miopen_perf.settings import Settings

CASE = Case(nodeid="a::b", problem="fp32-F", outcome="error", message="why")


@pytest.fixture
def document():
    return results_document([CASE], Settings(level=2), is_complete=True)


def test_what_was_written_is_read(document):
    found = parse_results(json.dumps(document), "x.json")
    assert found.cases == (CASE,)
    assert (found.is_complete, found.created, found.settings["level"]) == (True, document["created"], 2)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_file_has_a_line_a_case(tmp_path, count):
    path = tmp_path / "x.json"
    write_results(path, results_document([CASE] * count, Settings(level=2), is_complete=True))
    text = path.read_text()
    lines = [line.rstrip(",") for line in text.splitlines() if "a::b" in line]
    assert list(map(json.loads, lines)) == json.loads(text)["cases"]
    assert parse_results(text, "x.json").cases == (CASE,) * count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1"),
        ("[" * 100000, "damaged"),
        ("[]", "no results file"),
        ("{}", "no results file"),
        ('{"format": "pytest-miopen-perf results"}', "version None"),
        ('{"format": "pytest-miopen-perf results", "version": true}', "version True"),
        ('{"format": "pytest-miopen-perf results", "version": 2}', "update pytest-miopen-perf"),
    ],
)
def test_what_is_no_results_file_is_refused(text, words):
    with pytest.raises(InputError, match=r"x\.json") as raised:
        parse_results(text, "x.json")
    assert words in str(raised.value)


def test_a_field_that_does_not_fit_is_named(document):
    document["cases"][0]["outcome"] = "x" * 1000
    fault = results_fault(document)
    assert fault.startswith("$.cases[0].outcome: ")
    assert len(fault) < 300
    with pytest.raises(InputError, match="outcome"):
        parse_results(json.dumps(document), "x.json")
