"""What makes two measurements comparable, and what does not."""

from dataclasses import replace

import pytest

from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.results import Trial, TrialStatus


def trial(solver):
    return Trial(solver=solver, config="", status=TrialStatus.MEASURED, median_seconds=1.0)


@pytest.mark.parametrize(
    "changes", [{"cache_mode": "cold"}, {"data": "integers"}, {"seed": 2}, {"channels": 8}, {"solver": "ConvSlow"}]
)
def test_what_changes_the_measurement_changes_the_key(make_result, changes):
    assert CaseKey.of(make_result(**changes)) != CaseKey.of(make_result())


@pytest.mark.parametrize("changes", [{"config": "8,8"}, {"workspace_bytes": 9}, {"compile_seconds": 3.0}])
def test_what_only_came_of_it_does_not(make_result, changes):
    assert CaseKey.of(make_result(**changes)) == CaseKey.of(make_result())


def test_a_changed_winner_keeps_the_key(make_result):
    find = (trial("ConvFast"), trial("ConvSlow"))
    fast = make_result(find=find, solver="ConvFast", config_origin="tuned", tune="missing")
    slow = make_result(find=find[::-1], solver="ConvSlow", config="", config_origin="default", tune="missing")
    assert CaseKey.of(fast) == CaseKey.of(slow)
    assert CaseKey.of(fast).policy == "fastest of ConvFast, ConvSlow; tuned config"


def test_the_policy_says_where_configs_come_from(make_result):
    result = make_result()
    assert CaseKey.of(result).policy == "ConvFast; default config"
    missing, force = (CaseKey.of(make_result(tune=tune)) for tune in ("missing", "force"))
    assert missing == force != CaseKey.of(result)
    assert CaseKey.of(make_result(config_origin="given")).policy == "ConvFast; config 16,16"


def test_a_key_names_its_problem(make_result):
    result = make_result()
    assert CaseKey.of(result).name == str(result.problem)
    assert result.problem.to_driver() in CaseKey.of(result).sentence


def test_a_fingerprint_is_of_a_kind_not_of_one_device(make_result):
    device = make_result().device
    here = Fingerprint.of(device)
    assert Fingerprint.of(replace(device, uid="0000:0c", ordinal=3)) == here
    other = Fingerprint.of(replace(device, driver="6.2", compute_units=9))
    assert other.key != here.key
    assert here.differences(other) == ("compute_units 8 -> 9", "driver 6.1 -> 6.2")
    assert here.key.startswith("scripted-gfx000-")


def test_what_is_not_known_is_not_taken_for_the_usual(make_result):
    usual = make_result()
    assert CaseKey.of(usual).cache_mode == "warm"
    for unknown in ({"cache_mode": None}, {"circumstances": replace(usual.circumstances, launch_mode=None)}):
        assert CaseKey.of(make_result(**unknown)).cache_mode == "not known"
    assert CaseKey.of(make_result(data=None)).data.startswith("data not known, seed ")


def test_a_config_that_was_searched_for_is_a_tuned_one_whatever_was_asked_for(make_result):
    asked = CaseKey.of(make_result(config_origin="tuned", tune="missing"))
    assert CaseKey.of(make_result(config_origin="tuned", tune="off")) == asked
