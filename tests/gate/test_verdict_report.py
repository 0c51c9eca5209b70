"""The verdict file: its schema, its way through JSON, and rows of a paired comparison."""

import json
import math
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.errors import VerdictFileError
from pytest_miopen_perf.gate.decision import Evidence, GateRule
from pytest_miopen_perf.gate.estimators import Estimate
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.paired import PairedCase, paired_report
from pytest_miopen_perf.gate.report import SuiteChange, VerdictReport, verdicts_text
from pytest_miopen_perf.gate.verdict import (
    BaselineReference,
    Decision,
    Reason,
    Verdict,
    VerdictRow,
    worst_first,
)
from pytest_miopen_perf.gate.what_changed import Difference, Execution, WhatChanged
from pytest_miopen_perf.schema import load_schema

CREATED = "2026-03-03T12:00:00+00:00"
finite = st.floats(-10, 10)
intervals = st.none() | st.tuples(finite, finite)
seconds = st.none() | st.floats(1e-9, 100)
rows = st.builds(
    VerdictRow,
    key=st.builds(CaseKey, problem=st.text(), policy=st.text(), cache_mode=st.text(), data=st.text()),
    name=st.text(),
    decision=st.builds(
        Decision,
        verdict=st.sampled_from(Verdict),
        reason=st.sampled_from(Reason),
        sentence=st.text(),
        p_value=st.none() | st.floats(0, 1),
    ),
    comparison=st.sampled_from(["paired", "unpaired"]),
    margin=st.floats(1e-6, 1),
    unit=st.sampled_from(["process", "launch", ""]),
    units=st.integers(0, 99),
    change=st.none() | finite,
    interval=intervals,
    smallest_detectable_change=st.none() | finite,
    effect_over_noise=st.none() | finite | st.sampled_from([math.inf, -math.inf]),
    base_seconds=seconds,
    new_seconds=seconds,
    what_changed=st.none() | st.builds(WhatChanged, difference=st.sampled_from(Difference), sentence=st.text()),
    baseline=st.none() | st.builds(BaselineReference, name=st.text(), saved=st.just(CREATED), age_days=finite),
    reproducer=st.text(),
)
reports = st.builds(
    VerdictReport,
    comparison=st.sampled_from(["paired", "unpaired"]),
    versus=st.text(),
    rows=st.lists(rows, max_size=4).map(worst_first),
    suite=st.none() | st.builds(SuiteChange, change=finite, interval=intervals, cases=st.integers(1, 9)),
    vanished=st.lists(st.text(), max_size=2).map(tuple),
    unmeasured=st.lists(st.text(), max_size=2).map(tuple),
)


@pytest.fixture(scope="module")
def validator():
    schema = load_schema("verdicts")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@settings(max_examples=60)
@given(reports)
def test_any_report_fits_the_schema_and_survives_its_text(validator, report):
    document = json.loads(verdicts_text(report.to_json(CREATED)))
    validator.validate(document)
    assert VerdictReport.from_json(document) == report


def test_the_schema_refuses_what_no_report_says(validator):
    def document(**changes):
        empty = VerdictReport(comparison="paired", versus="A", rows=(), suite=None)
        return empty.to_json(CREATED) | changes

    assert validator.is_valid(document())
    for changes in ({"comparison": "both"}, {"version": 2}, {"rows": [{}]}, {"surplus": 1}, {"counts": {}}):
        assert not validator.is_valid(document(**changes))


def test_schema_and_code_name_the_same_words():
    definitions = load_schema("verdicts")["$defs"]
    decision = definitions["decision"]["properties"]
    assert decision["verdict"]["enum"] == [verdict.value for verdict in Verdict]
    assert set(decision["reason"]["enum"]) == {reason.value for reason in Reason}
    differences = definitions["what_changed"]["properties"]["difference"]["enum"]
    assert differences == [difference.value for difference in Difference]


def test_other_documents_are_refused_with_a_sentence():
    good = VerdictReport(comparison="paired", versus="A", rows=(), suite=None).to_json(CREATED)
    with pytest.raises(VerdictFileError, match="update pytest-miopen-perf"):
        VerdictReport.from_json(good | {"version": 2})
    with pytest.raises(VerdictFileError, match="no verdict file"):
        VerdictReport.from_json({})


@settings(max_examples=60)
@given(st.lists(rows, max_size=8))
def test_the_worst_comes_first(found):
    ordered = worst_first(found)
    assert sorted(map(id, ordered)) == sorted(map(id, found))
    red = [row.verdict is Verdict.REGRESSION for row in ordered]
    assert red == sorted(red, reverse=True)
    calm = [row.effect_over_noise for row in ordered if row.verdict is not Verdict.REGRESSION]
    known = [effect for effect in calm if effect is not None]
    assert known == sorted(known, reverse=True)
    assert calm[: len(known)] == known


# --- Paired rows ------------------------------------------------------------------------------------------------------


def key(number):
    line = f"conv -n {number} -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
    return CaseKey(problem=line, policy="ConvFast", cache_mode="warm", data="miopen")


def test_a_paired_report_shows_evidence_and_what_ran():
    slow, same = (0.050, 0.051, 0.049), (0.0, 0.0005, -0.0005)
    fast = Execution(solver="ConvFast", config="")
    cases = [
        PairedCase(key=key(1), evidence=Evidence(margin=0.01, screening=same), base=fast, new=fast),
        PairedCase(
            key=key(2),
            evidence=Evidence(margin=0.02, screening=slow, confirmation=(*slow, 0.0505, 0.0495)),
            base=fast,
            new=replace(fast, solver="ConvNaive"),
            base_seconds=1e-3,
            new_seconds=1.05e-3,
        ),
        PairedCase(key=key(3), evidence=Evidence(margin=0.01)),
    ]
    report = paired_report(cases, GateRule(), versus="HEAD~1")
    red, green, grey = report.rows
    assert [row.verdict for row in report.rows] == [Verdict.REGRESSION, Verdict.PASS, Verdict.INCONCLUSIVE]
    assert (red.units, red.margin, red.unit) == (5, 0.02, "process")
    assert red.change == pytest.approx(math.expm1(0.05))
    assert red.what_changed.difference is Difference.OTHER_SOLVER
    assert green.smallest_detectable_change > 0.01
    assert (grey.change, grey.units, grey.what_changed) == (None, 0, None)
    assert report.suite.cases == 2
    assert 1 + report.suite.change == pytest.approx(math.exp(0.025))
    assert red.with_reproducer("pytest x").reproducer == "pytest x"


@given(st.lists(st.tuples(st.floats(-0.2, 0.2), st.floats(0, 0.1), st.integers(2, 20)), max_size=5))
def test_a_suite_is_made_of_what_its_rows_show(found):
    estimates = [
        Estimate(log_ratio=ratio, standard_error=error, degrees=units - 1, units=units) for ratio, error, units in found
    ]
    empty = row_of(Verdict.PASS)
    shown = [replace(empty, units=e.units).with_estimate(e, 0.01) for e in estimates]
    expected, suite = SuiteChange.of(estimates), SuiteChange.of_rows([empty, *shown])
    if expected is None:
        assert suite is None
        return
    assert suite.cases == len(estimates)
    assert suite.change == pytest.approx(expected.change)
    assert suite.interval == pytest.approx(expected.interval, abs=1e-6)


def test_a_suite_of_one_row_is_that_row():
    row = replace(row_of(Verdict.INCONCLUSIVE), change=-0.0062, interval=(-0.012, -0.0004), units=5)
    suite = SuiteChange.of_rows([row])
    assert (suite.change, suite.cases) == (pytest.approx(-0.0062), 1)
    assert suite.interval == pytest.approx(row.interval, abs=1e-3)


def test_one_launch_leaves_the_interval_of_the_suite_unknown():
    row = replace(row_of(Verdict.INCONCLUSIVE), change=0.1, units=1)
    assert SuiteChange.of_rows([row]).interval is None


def row_of(verdict):
    decision = Decision(verdict=verdict, reason=Reason.UNDECIDED, sentence="open")
    key = CaseKey(problem="p", policy="p", cache_mode="warm", data="d")
    return VerdictRow(key=key, name="a case", decision=decision, comparison="unpaired", margin=0.01)
