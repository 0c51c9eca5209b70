"""The set variables, explained: what each does, what MIOpen makes of its text, whether a measurement survives it."""

from __future__ import annotations

import difflib
from functools import cache
from typing import TYPE_CHECKING

from pytest_miopen_perf.doctor.combinations import combined
from pytest_miopen_perf.doctor.findings import Finding
from pytest_miopen_perf.doctor.miopen_variables import MIOPEN_VARIABLES
from pytest_miopen_perf.doctor.runtime_variables import RUNTIME_VARIABLES
from pytest_miopen_perf.doctor.solver_switches import SOLVER_SWITCHES
from pytest_miopen_perf.environment import performance_variables
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_miopen_perf.doctor.readings import Reading
    from pytest_miopen_perf.doctor.variables import Variable

_TEST_PREFIX = "MIOPEN_TEST_"
_SIMILARITY = 0.75


def diagnose(variables: Mapping[str, str]) -> tuple[Finding, ...]:
    """What there is to say about the variables with the prefixes of `environment.PREFIXES`; worst first.

    At least one finding for each of them, and one for each combination that does something else than its parts.

    Args:
        variables: Names and texts, of which others than those prefixes are left out.
    """
    chosen = performance_variables(variables)
    table = known_variables()
    readings = {name: (table[name], text, table[name].read(text)) for name, text in chosen.items() if name in table}
    findings = [
        *(finding for name, (variable, text, reading) in readings.items() for finding in _of(variable, text, reading)),
        *(_unknown(name, text) for name, text in chosen.items() if name not in table),
        *combined({name: known for name, known in readings.items() if not known[2].is_rejected}),
    ]
    return tuple(sorted(findings, key=lambda finding: finding.severity.rank))


@cache
def known_variables() -> Mapping[str, Variable]:
    """Every variable that the doctor knows, by name."""
    return {variable.name: variable for variable in (*MIOPEN_VARIABLES, *SOLVER_SWITCHES, *RUNTIME_VARIABLES)}


def _of(variable: Variable, text: str, reading: Reading) -> Iterator[Finding]:
    """A text that is rejected or misread, a value that spoils a measurement; else what the variable does."""
    is_plain = True
    if reading.doubt:
        is_plain = False
        yield _misread(variable, text, reading)
    concern = variable.concern
    if concern is not None and concern.applies(reading):
        is_plain = False
        yield Finding(
            code="benchmark",
            variable=variable.name,
            value=text,
            effective=reading.effective,
            severity=concern.severity,
            sentence=f"{variable.name} {variable.meaning}; {concern.sentence}",
            advice=concern.advice,
        )
    if is_plain:
        yield Finding(
            code="set",
            variable=variable.name,
            value=text,
            effective=reading.effective,
            sentence=f"{variable.name} {variable.meaning}",
        )


def _misread(variable: Variable, text: str, reading: Reading) -> Finding:
    return Finding(
        code="rejected" if reading.is_rejected else "misread",
        variable=variable.name,
        value=text,
        effective=reading.effective,
        severity=Severity.ERROR if reading.is_rejected else Severity.WARNING,
        sentence=f"{variable.name}={text!r} is not read as it looks: {reading.doubt}",
        advice="correct the value, or unset it",
    )


def _unknown(name: str, text: str) -> Finding:
    if name.startswith(_TEST_PREFIX):
        return Finding(
            code="set", variable=name, value=text, effective=text, sentence=f"{name} is read by MIOpen's own tests only"
        )
    close = difflib.get_close_matches(name, known_variables(), n=1, cutoff=_SIMILARITY)
    return Finding(
        code="unknown",
        variable=name,
        value=text,
        severity=Severity.WARNING if close or name.startswith("MIOPEN_") else Severity.INFO,
        sentence=f"{name} is not known here, so that it may do nothing",
        advice=f"did you mean {close[0]}?" if close else "see whether your release has it",
    )
