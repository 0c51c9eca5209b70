"""What the end of a session says of verdicts that no test was told."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.report import VerdictReport
from pytest_miopen_perf.gate.verdict import Decision, Reason, Verdict, VerdictRow
from pytest_miopen_perf.session.gate_report import GateReport, SessionEnd
from pytest_miopen_perf.settings import Settings

END = SessionEnd(is_complete=True, is_green=True, is_part=False)


def row_of(result, verdict):
    decision = Decision(verdict=verdict, reason=Reason.SLOWER, sentence="beyond the margin")
    key = CaseKey.of(result)
    return VerdictRow(key=key, name=key.name, decision=decision, comparison="paired", margin=0.01)


@pytest.fixture
def problems_of(make_run):
    """The problems of a session whose processes led to some rows, and whose tests were told others."""

    def finish(rows, cases, **settings):
        report = VerdictReport(comparison="paired", versus="A a; B b", rows=tuple(rows), suite=None)
        lead = SimpleNamespace(report=report, remarks=(), problems=())
        gate = SimpleNamespace(
            run_of=make_run,
            lead=lead,
            opponent=None,
            save_path=None,
            tells_what_was_led=settings.pop("is_told", True),
        )
        return GateReport(gate, Settings(**settings)).finish(cases, END)

    return finish


def test_a_regression_that_no_test_was_told_of_fails_the_session(problems_of, make_case):
    row = row_of(make_case().result, Verdict.REGRESSION)
    (problem,) = problems_of([row], [])
    assert problem.startswith("no test was told REGRESSION MIOpenDriver conv")
    assert problem.endswith("beyond the margin")


def test_what_a_test_was_told_is_its_own(problems_of, make_case):
    case = make_case()
    row = row_of(case.result, Verdict.REGRESSION)
    assert problems_of([row], [replace(case, verdict=row)]) == []


def test_the_canary_and_an_a_a_run_tell_no_test(problems_of, make_case):
    assert problems_of([row_of(make_case().result, Verdict.REGRESSION)], [], is_told=False) == []


@pytest.mark.parametrize(("is_strict", "count"), [(False, 0), (True, 1)])
def test_what_is_open_is_untold_only_where_it_would_be_red(problems_of, make_case, is_strict, count):
    row = row_of(make_case().result, Verdict.INCONCLUSIVE)
    assert len(problems_of([row], [], strict=is_strict, compare="x")) == count
