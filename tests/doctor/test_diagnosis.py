"""Every set variable has a finding, and what spoils a measurement is told."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.doctor.diagnosis import diagnose, known_variables
from pytest_miopen_perf.doctor.variables import Group
from pytest_miopen_perf.environment import PREFIXES
from pytest_miopen_perf.severity import Severity

names = st.sampled_from(sorted(known_variables())) | st.from_regex(r"(MIOPEN|HIP|CUDA)_[A-Z_]{1,9}", fullmatch=True)
values = st.sampled_from(["", "0", "1", "3", "on", "off", "normal", "0x10", "a;b", "/tmp/x"]) | st.text(max_size=8)


def codes(variables):
    return {finding.code for finding in diagnose(variables)}


def only(variables):
    (finding,) = diagnose(variables)
    return finding


@given(st.dictionaries(names, values, max_size=6))
def test_every_set_variable_is_explained(variables):
    findings = diagnose(variables)
    told = {finding.variable for finding in findings if finding.code != "combination"}
    assert told == set(variables)
    assert all(finding.sentence and finding.severity in Severity for finding in findings)
    assert [finding.severity.rank for finding in findings] == sorted(finding.severity.rank for finding in findings)


def test_nothing_is_said_of_nothing():
    assert diagnose({}) == ()
    assert diagnose({"PATH": "/bin", "LD_LIBRARY_PATH": "x", "miopen_find_mode": "2"}) == ()


def test_the_environment_of_this_process_can_be_diagnosed():
    assert isinstance(diagnose(os.environ), tuple)


def test_the_table_is_of_the_variables_that_are_looked_at():
    table = known_variables()
    assert all(name.startswith(PREFIXES) and name == variable.name for name, variable in table.items())
    assert all(variable.meaning for variable in table.values())
    assert len(table) > 150


@pytest.mark.parametrize("name", sorted(known_variables()))
def test_no_value_breaks_a_variable(name):
    for value in ("", "0", "1", "on", "nonsense", "-1", "0x11", " ", "é"):
        assert diagnose({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MIOPEN_CHECK_NUMERICS", "0x01"),
        ("MIOPEN_DEBUG_COMPILE_ONLY", "1"),
        ("MIOPEN_DEVICE_ARCH", "gfx942"),
        ("MIOPEN_DEVICE_CU", "304"),
        ("MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS", "1"),
        ("HSA_OVERRIDE_GFX_VERSION", "10.3.0"),
        ("HSA_TOOLS_LIB", "librocprofiler.so"),
        ("ROCBLAS_CHECK_NUMERICS", "1"),
        ("MIOPEN_FIND_ENFORCE", "5"),
    ],
)
def test_what_makes_a_benchmark_worthless_is_an_error(name, value):
    finding = next(finding for finding in diagnose({name: value}) if finding.code == "benchmark")
    assert finding.severity is Severity.ERROR
    assert finding.advice


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MIOPEN_LOG_LEVEL", "6"),
        ("MIOPEN_ENABLE_LOGGING", "yes"),
        ("ROCBLAS_LAYER", "2"),
        ("HIP_LAUNCH_BLOCKING", "1"),
        ("MIOPEN_DEBUG_CONV_DIRECT", "0"),
        ("MIOPEN_DEBUG_AMD_WINOGRAD_RXS_F2X3", "off"),
        ("MIOPEN_FIND_MODE", "fast"),
        ("MIOPEN_DISABLE_CACHE", "1"),
        ("MIOPEN_PERFORMANCE_LOGS", "7"),
    ],
)
def test_what_changes_a_benchmark_is_a_warning(name, value):
    finding = next(finding for finding in diagnose({name: value}) if finding.code == "benchmark")
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MIOPEN_CHECK_NUMERICS", "0"),
        ("MIOPEN_DEBUG_COMPILE_ONLY", "off"),
        ("MIOPEN_LOG_LEVEL", "4"),
        ("MIOPEN_DEBUG_CONV_DIRECT", "1"),
        ("MIOPEN_PERFORMANCE_LOGS", "4"),
        ("MIOPEN_DEVICE_ARCH", ""),
        ("MIOPEN_USER_DB_PATH", "/tmp/db"),
        ("HSA_ENABLE_SDMA", "1"),
    ],
)
def test_a_harmless_value_is_only_explained(name, value):
    finding = only({name: value})
    assert (finding.code, finding.severity) == ("set", Severity.INFO)
    assert finding.sentence.startswith(name)


def test_a_level_given_as_a_word_is_off():
    finding = only({"MIOPEN_PERFORMANCE_LOGS": "on"})
    assert (finding.code, finding.severity, finding.effective) == ("misread", Severity.WARNING, "0: off")


def test_an_octal_level_is_another_one():
    findings = {finding.code: finding for finding in diagnose({"MIOPEN_PERFORMANCE_LOGS": "010"})}
    assert findings["misread"].effective.startswith("8: as 3")
    assert findings["benchmark"].severity is Severity.WARNING


def test_a_value_that_throws_is_an_error():
    finding = only({"MIOPEN_FIND_MODE": "nonsense"})
    assert (finding.code, finding.severity) == ("rejected", Severity.ERROR)
    assert "stoul" in finding.sentence


@pytest.mark.parametrize("name", sorted(known_variables()))
def test_a_value_that_is_rejected_spoils_nothing_more(name):
    if known_variables()[name].read("nonsense").is_rejected:
        assert codes({name: "nonsense"}) == {"rejected"}


def test_a_typing_mistake_is_recognised():
    finding = only({"MIOPEN_FIND_MDOE": "1"})
    assert (finding.code, finding.severity, finding.advice) == (
        "unknown",
        Severity.WARNING,
        "did you mean MIOPEN_FIND_MODE?",
    )


def test_an_unknown_name_that_is_like_no_other_is_said_to_be_unknown():
    assert only({"MIOPEN_QQQQQ": "1"}).severity is Severity.WARNING
    assert only({"CUDA_QQQQQQQQQ": "1"}).severity is Severity.INFO


def test_variables_of_tests_of_miopen_and_our_own_are_known():
    assert only({"MIOPEN_TEST_ALL": "1"}).code == "set"
    assert known_variables()["MIOPEN_PERF_CXX"].group is Group.OWN


def test_a_finding_survives_json():
    finding = only({"MIOPEN_FIND_MODE": "nonsense"})
    assert finding.to_json()["severity"] == "error"
    assert set(finding.to_json()) == {"code", "variable", "value", "effective", "severity", "sentence", "advice"}


# --- Combinations -----------------------------------------------------------------------------------------------------


def combination(**variables):
    """The combinations that are told of MIOpen's variables, by the last words of their names."""
    found = diagnose({f"MIOPEN_{name}": value for name, value in variables.items()})
    return [finding for finding in found if finding.code == "combination"]


@pytest.mark.parametrize("mode", ["FAST", "3", "dynamic_hybrid", "7"])
@pytest.mark.parametrize("enforce", ["2", "search", "4"])
def test_something_enforced_overrides_the_find_mode(mode, enforce):
    found = combination(FIND_MODE=mode, FIND_ENFORCE=enforce)
    assert any(finding.effective == "find mode NORMAL" for finding in found)


@pytest.mark.parametrize(("mode", "enforce"), [("NORMAL", "3"), ("FAST", "1"), ("FAST", "none"), ("FAST", "")])
def test_a_safe_pair_of_mode_and_enforce_is_not_overridden(mode, enforce):
    found = combination(FIND_MODE=mode, FIND_ENFORCE=enforce)
    assert not any(finding.effective == "find mode NORMAL" for finding in found)


def test_an_update_without_a_search_does_nothing():
    (finding,) = combination(FIND_ENFORCE="DB_UPDATE")
    assert "searches nothing" in finding.sentence


@pytest.mark.parametrize("enforce", ["3", "SEARCH_DB_UPDATE"])
def test_a_search_in_every_call_is_told(enforce):
    (finding,) = combination(FIND_ENFORCE=enforce)
    assert "hours" in finding.sentence


def test_fast_without_a_find_db_only_guesses():
    (finding,) = combination(FIND_MODE="2", DEBUG_DISABLE_FIND_DB="1")
    assert finding.severity is Severity.ERROR


def test_what_is_searched_must_have_a_place():
    found = combination(FIND_ENFORCE="4", DEBUG_DISABLE_USER_DB="1")
    assert any("nowhere" in finding.sentence for finding in found)


def test_trust_needs_what_it_trusts():
    (finding,) = combination(FIND_MODE="TRUST_VERIFY", DEBUG_DISABLE_USER_DB="1")
    assert "switched off" in finding.sentence


@pytest.mark.parametrize(
    "filtered", [{"DEBUG_FIND_ONLY_SOLVER": "85"}, {"DEBUG_CONV_GEMM": "0"}, {"DEBUG_AMD_WINOGRAD_3X3": "0"}]
)
def test_a_filter_writes_narrow_records_into_a_shared_data_base(filtered):
    (finding,) = combination(**filtered)
    assert "later runs" in finding.sentence
    assert combination(**filtered, USER_DB_PATH="/tmp/own") == []


def test_without_any_algorithm_nothing_is_left():
    off = dict.fromkeys(("GEMM", "DIRECT", "WINOGRAD", "FFT", "IMPLICIT_GEMM"), "0")
    found = combination(**{f"DEBUG_CONV_{name}": value for name, value in off.items()}, USER_DB_PATH="/tmp/own")
    assert [finding.severity for finding in found] == [Severity.ERROR]


def test_one_place_for_both_data_bases_hides_the_shipped_one():
    (finding,) = combination(USER_DB_PATH="/tmp/db", SYSTEM_DB_PATH="/tmp/db")
    assert finding.severity is Severity.INFO
    assert combination(USER_DB_PATH="/tmp/db", SYSTEM_DB_PATH="/opt/db") == []


def test_log_lines_tear_records():
    assert combination(PERFORMANCE_LOGS="2", LOG_LEVEL="6")
    assert combination(PERFORMANCE_LOGS="2", ENABLE_LOGGING="1")
    assert combination(PERFORMANCE_LOGS="0", LOG_LEVEL="6") == []


def test_a_rejected_value_takes_part_in_no_combination():
    assert combination(FIND_MODE="nonsense", FIND_ENFORCE="5") == []


@pytest.mark.parametrize(
    ("rocr", "hip", "severity"),
    [("0", "0", Severity.INFO), ("2,3", "1", Severity.INFO), ("2,3", "2", Severity.ERROR), ("4", "4", Severity.ERROR)],
)
def test_the_indices_of_hip_count_within_those_of_the_runtime(rocr, hip, severity):
    found = diagnose({"ROCR_VISIBLE_DEVICES": rocr, "HIP_VISIBLE_DEVICES": hip})
    (finding,) = [finding for finding in found if finding.code == "combination"]
    assert finding.severity is severity


def test_two_names_of_one_mask_that_differ_are_told():
    assert "combination" in codes({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"})
    assert "combination" not in codes({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "0"})
