"""Variables that are harmless alone and not together.

Each rule looks at what MIOpen makes of the set variables and answers with a finding or nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf.doctor.findings import Finding
from pytest_miopen_perf.doctor.miopen_variables import FAMILIES
from pytest_miopen_perf.doctor.variables import Group
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_miopen_perf.doctor.readings import Reading
    from pytest_miopen_perf.doctor.variables import Variable

    Set: TypeAlias = Mapping[str, tuple[Variable, str, Reading]]
    """By name: the variable, its text and what MIOpen makes of it; rejected texts are left out."""


def combined(known: Set) -> Iterator[Finding]:
    """What the set variables do to each other."""
    for rule in _RULES:
        finding = rule(known)
        if finding is not None:
            yield finding


def _enforce_overrides_mode(known: Set) -> Finding | None:
    """Something enforced makes the find mode NORMAL, in all but a few releases of 2025 that let SEARCH keep it."""
    enforce, mode = _number(known, "MIOPEN_FIND_ENFORCE"), _number(known, "MIOPEN_FIND_MODE")
    if enforce is None or enforce < 2 or mode in (None, 1):
        return None
    return _finding(
        known,
        ("MIOPEN_FIND_ENFORCE", "MIOPEN_FIND_MODE"),
        effective="find mode NORMAL",
        sentence="while something is enforced, most releases of MIOpen ignore the find mode and take NORMAL",
        advice="set MIOPEN_FIND_MODE=NORMAL, so that every release does the same",
    )


def _update_without_search(known: Set) -> Finding | None:
    if _number(known, "MIOPEN_FIND_ENFORCE") != 2:
        return None
    return _finding(
        known,
        ("MIOPEN_FIND_ENFORCE",),
        effective="a search only where the call asks for one",
        sentence="DB_UPDATE alone searches nothing unless the call itself asks for it, and turns the mode to NORMAL",
        advice="set SEARCH_DB_UPDATE to tune anew, or give MIOpenDriver -s 1",
    )


def _search_in_every_call(known: Set) -> Finding | None:
    action = {3: "problems without a tuned config", 4: "every problem, also tuned ones"}.get(
        _number(known, "MIOPEN_FIND_ENFORCE") or 0
    )
    if action is None:
        return None
    return _finding(
        known,
        ("MIOPEN_FIND_ENFORCE",),
        effective=f"searches {action}",
        sentence=f"every Find call searches {action}, which can take hours a network, and writes the user's perf-db",
        advice="tune in a run of its own, and measure without it",
    )


def _fast_without_find_db(known: Set) -> Finding | None:
    if _number(known, "MIOPEN_FIND_MODE") != 2 or not _is_on(known, "MIOPEN_DEBUG_DISABLE_FIND_DB"):
        return None
    return _finding(
        known,
        ("MIOPEN_FIND_MODE", "MIOPEN_DEBUG_DISABLE_FIND_DB"),
        severity=Severity.ERROR,
        effective="always a guess",
        sentence="FAST without a find-db guesses every solver, and the times that it reports are no measurements",
        advice="unset one of the two",
    )


def _trust_without_user_db(known: Set) -> Finding | None:
    mode = _number(known, "MIOPEN_FIND_MODE")
    if mode not in (6, 7) or not _is_on(known, "MIOPEN_DEBUG_DISABLE_USER_DB"):
        return None
    return _finding(
        known,
        ("MIOPEN_FIND_MODE", "MIOPEN_DEBUG_DISABLE_USER_DB"),
        effective="nothing to trust, nothing kept",
        sentence="TRUST_VERIFY works on the user's find-db, which is switched off",
        advice="unset one of the two",
    )


def _search_without_user_db(known: Set) -> Finding | None:
    enforce = _number(known, "MIOPEN_FIND_ENFORCE") or 0
    if enforce not in (2, 3, 4) or not _is_on(known, "MIOPEN_DEBUG_DISABLE_USER_DB"):
        return None
    return _finding(
        known,
        ("MIOPEN_FIND_ENFORCE", "MIOPEN_DEBUG_DISABLE_USER_DB"),
        effective="searches, and forgets",
        sentence="what the search finds has nowhere to be stored",
        advice="unset MIOPEN_DEBUG_DISABLE_USER_DB, or the search",
    )


def _filtered_find_into_shared_db(known: Set) -> Finding | None:
    """A find-db record that was written under a filter lists fewer solvers, and later runs believe it."""
    filters = tuple(name for name, (variable, _, reading) in known.items() if _is_filter(name, variable, reading))
    is_kept_apart = known.keys() & {"MIOPEN_USER_DB_PATH", "MIOPEN_DEBUG_DISABLE_USER_DB"}
    if not filters or is_kept_apart:
        return None
    return _finding(
        known,
        filters,
        effective="narrow records in the user's find-db",
        sentence="Find calls store records with only the solvers that are left, and later runs without the filter are "
        "served by them",
        advice="set MIOPEN_USER_DB_PATH to an empty directory of this run",
    )


def _is_filter(name: str, variable: Variable, reading: Reading) -> bool:
    if name == "MIOPEN_DEBUG_FIND_ONLY_SOLVER":
        return bool(reading.value)
    return variable.group is Group.SOLVERS and variable.concern is not None and reading.value is False


def _no_algorithm_left(known: Set) -> Finding | None:
    names = tuple(family.name for family in FAMILIES)
    if not all(name in known and known[name][2].value is False for name in names):
        return None
    return _finding(
        known,
        names,
        severity=Severity.ERROR,
        effective="no solver is left",
        sentence="all five algorithms are off, so that every Find call fails",
        advice="leave one of them on",
    )


def _system_db_is_user_db(known: Set) -> Finding | None:
    texts = {known[name][1] for name in ("MIOPEN_USER_DB_PATH", "MIOPEN_SYSTEM_DB_PATH") if name in known}
    if len(texts) != 1 or "MIOPEN_USER_DB_PATH" not in known or "MIOPEN_SYSTEM_DB_PATH" not in known:
        return None
    return _finding(
        known,
        ("MIOPEN_USER_DB_PATH", "MIOPEN_SYSTEM_DB_PATH"),
        severity=Severity.INFO,
        effective="no shipped tuning",
        sentence="both data bases are in one place, so that nothing is served from what the library ships",
    )


def _json_among_log_lines(known: Set) -> Finding | None:
    level, log_level = _number(known, "MIOPEN_PERFORMANCE_LOGS") or 0, _number(known, "MIOPEN_LOG_LEVEL") or 0
    if not level or (log_level < 5 and not _is_on(known, "MIOPEN_ENABLE_LOGGING")):
        return None
    noisy = "MIOPEN_LOG_LEVEL" if log_level >= 5 else "MIOPEN_ENABLE_LOGGING"
    return _finding(
        known,
        ("MIOPEN_PERFORMANCE_LOGS", noisy),
        effective="records torn by log lines",
        sentence="both write to stderr in small pieces, so that log lines can cut a JSON record in two",
        advice=f"unset {noisy} while records are written",
    )


def _two_masks(known: Set) -> Finding | None:
    """HIP's indices count within what ROCR_VISIBLE_DEVICES leaves."""
    names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
    if not all(name in known for name in names):
        return None
    left, wanted = (known[name][1].split(",") for name in names)
    beyond = [word for word in wanted if word.strip().isdecimal() and int(word) >= len(left)]
    if not beyond:
        return _finding(
            known,
            names,
            severity=Severity.INFO,
            effective=f"{len(wanted)} of {len(left)} devices",
            sentence="HIP_VISIBLE_DEVICES counts within the devices that ROCR_VISIBLE_DEVICES leaves, from 0",
        )
    return _finding(
        known,
        names,
        severity=Severity.ERROR,
        effective=f"no device {beyond[0].strip()}",
        sentence=f"ROCR_VISIBLE_DEVICES leaves {len(left)} device{'s'[: len(left) > 1]}, which HIP counts from 0, so "
        f"that HIP_VISIBLE_DEVICES={known[names[1]][1]} names one that is not there",
        advice="set only ROCR_VISIBLE_DEVICES",
    )


def _two_names_of_one_mask(known: Set) -> Finding | None:
    names = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    if not all(name in known for name in names) or known[names[0]][1] == known[names[1]][1]:
        return None
    return _finding(
        known,
        names,
        effective=f"HIP uses {known[names[0]][1]}",
        sentence="the two differ; on an AMD device HIP_VISIBLE_DEVICES wins, and frameworks differ in which they read",
        advice="set one of them, or both alike",
    )


_RULES = (
    _enforce_overrides_mode,
    _update_without_search,
    _search_in_every_call,
    _fast_without_find_db,
    _trust_without_user_db,
    _search_without_user_db,
    _filtered_find_into_shared_db,
    _no_algorithm_left,
    _system_db_is_user_db,
    _json_among_log_lines,
    _two_masks,
    _two_names_of_one_mask,
)


def _number(known: Set, name: str) -> int | None:
    value = known[name][2].value if name in known else None
    return value if isinstance(value, int) else None


def _is_on(known: Set, name: str) -> bool:
    return name in known and bool(known[name][2].value)


def _finding(
    known: Set,
    names: tuple[str, ...],
    *,
    effective: str,
    sentence: str,
    severity: Severity = Severity.WARNING,
    advice: str = "",
) -> Finding:
    return Finding(
        code="combination",
        variable=", ".join(names),
        value=", ".join(known[name][1] for name in names),
        effective=effective,
        severity=severity,
        sentence=sentence,
        advice=advice,
    )
