"""Scripts from JSON: every field arrives, and every mistake is named by file and key."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.devices.script import (
    ClockStates,
    KernelScript,
    Script,
    Spikes,
    Throttle,
    Variation,
    WrongElement,
)
from pytest_miopen_perf.devices.script_file import read_script
from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.launch import KernelSource

FULL_TEXT = """
{
  "name": "Model T", "arch": "gfx000", "compute_units": 4, "wavefront": 32, "lds_bytes": 1024,
  "memory_bytes": 1000000, "max_block": 512, "compiler": "hipcc 0", "driver": "1.2", "runtime": "3.4",
  "seed": 7, "session": 2, "timer_step_seconds": 1e-6,
  "cache_bytes": 4096, "empty_launch_seconds": 3e-6, "other_processes": 1,
  "hang_limit_seconds": 9, "lost_after_launches": 100,
  "variation": {"drift": -0.01, "clock_states": {"factor": 1.1, "probability": 0.25, "dwell_launches": 50}},
  "rules": [
    {"kernel": "naive_*", "defines": {"ELEMENT": "FP*", "BLOCK": 256}, "times_seconds": [1, 0, -1, NaN, Infinity]},
    {"kernel": "*_fwd", "file": "*.hip", "seconds": 2, "seconds_per_gflop": 3e-4, "seconds_per_iteration": 5e-9,
     "config_spread": 0.1, "compile_seconds": 4,
     "variation": {"noise": 0.01, "spikes": {"probability": 0.5, "factor": 2}, "session_offset": 0.1,
                   "throttle": {"after_launches": 3, "factor": 1.5}}},
    {"compile_error": "no", "launch_error": "never", "hang": true, "wrong": "nan", "faults_after_launches": 5},
    {"wrong": {"element": 3, "add": -1}},
    {"wrong": null}
  ]
}
"""
FULL = Script(
    name="Model T",
    arch="gfx000",
    compute_units=4,
    wavefront=32,
    lds_bytes=1024,
    memory_bytes=1000000,
    max_block=512,
    compiler="hipcc 0",
    driver="1.2",
    runtime="3.4",
    seed=7,
    session=2,
    timer_step_seconds=1e-6,
    cache_bytes=4096,
    empty_launch_seconds=3e-6,
    other_processes=1,
    hang_limit_seconds=9.0,
    lost_after_launches=100,
    variation=Variation(drift=-0.01, clock_states=ClockStates(factor=1.1, probability=0.25, dwell_launches=50)),
    rules=(
        KernelScript(
            kernel="naive_*",
            defines=(("ELEMENT", "FP*"), ("BLOCK", "256")),
            times_seconds=(1.0, 0.0, -1.0, math.nan, math.inf),
        ),
        KernelScript(
            kernel="*_fwd",
            file="*.hip",
            seconds=2.0,
            seconds_per_gflop=3e-4,
            seconds_per_iteration=5e-9,
            config_spread=0.1,
            compile_seconds=4.0,
            variation=Variation(
                noise=0.01,
                spikes=Spikes(probability=0.5, factor=2.0),
                session_offset=0.1,
                throttle=Throttle(after_launches=3, factor=1.5),
            ),
        ),
        KernelScript(compile_error="no", launch_error="never", hang=True, wrong="nan", faults_after_launches=5),
        KernelScript(wrong=WrongElement(element=3, add=-1.0)),
        KernelScript(),
    ),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("scripts") / "device.json"


def test_every_field_arrives(file):
    file.write_text(FULL_TEXT)
    assert repr(read_script(file)) == repr(FULL)  # a NaN equals no NaN, but is spelt like one


def test_the_full_script_names_every_field():
    """A field that is new in the classes must be added to the text above."""
    told = json.loads(FULL_TEXT)
    assert {field.name for field in dataclasses.fields(Script)} == told.keys()
    assert {field.name for field in dataclasses.fields(KernelScript)} == {key for rule in told["rules"] for key in rule}


def test_an_empty_object_is_the_default(file):
    file.write_text("{}")
    assert read_script(file) == Script()


MISTAKES = {
    '{"rules": [{"seconds": -1}]}': r"rules\[0\]\.seconds is -1\.0; it must be 0 or more",
    '{"rules": [{}, {"seconds": "fast"}]}': r"rules\[1\]\.seconds is 'fast'; write a number",
    '{"rules": [{"seconds": NaN}]}': r"rules\[0\]\.seconds is nan",
    '{"rules": [{"seconds": true}]}': r"rules\[0\]\.seconds is True; write a number",
    '{"rules": [{"times_seconds": 1}]}': r"rules\[0\]\.times_seconds is 1; write a list",
    '{"rules": [{"times_seconds": [1, "x"]}]}': r"rules\[0\]\.times_seconds\[1\] is 'x'; write a number",
    '{"rules": [{"sconds": 1}]}': r"rules\[0\]\.sconds is no key of a script; there are: kernel, file, defines",
    '{"rules": {"seconds": 1}}': r"rules is \{'seconds': 1\}; write a list",
    '{"rules": ["naive"]}': r"rules\[0\] is 'naive'; write an object",
    '{"rules": [{"defines": ["A"]}]}': r"rules\[0\]\.defines is \['A'\]; write an object",
    '{"rules": [{"defines": {"A": 1.5}}]}': r"rules\[0\]\.defines\.A is 1\.5; write a text or an integer",
    '{"rules": [{"kernel": ""}]}': r"rules\[0\]\.kernel is empty",
    '{"rules": [{"hang": 1}]}': r"rules\[0\]\.hang is 1; write true or false",
    '{"rules": [{"wrong": "slightly"}]}': r"rules\[0\]\.wrong is 'slightly'; write one of unwritten, nan, zeros",
    '{"rules": [{"wrong": 5}]}': r"rules\[0\]\.wrong is 5; write .*unwritten, nan, zeros.* an object",
    '{"rules": [{"wrong": {"element": 1}}]}': r"rules\[0\]\.wrong\.add is missing",
    '{"rules": [{"wrong": {"element": 1, "add": 0}}]}': r"rules\[0\]\.wrong\.add is 0\.0; it must be .* other than 0",
    '{"rules": [{"wrong": {"element": -1, "add": 1}}]}': r"rules\[0\]\.wrong\.element is -1",
    '{"rules": [{"variation": {"noise": -0.1}}]}': r"rules\[0\]\.variation\.noise is -0\.1",
    '{"variation": {"drift": -1}}': r"variation\.drift is -1\.0; it must be above -1",
    '{"variation": {"spikes": {"probability": 2, "factor": 1}}}': r"variation\.spikes\.probability is 2\.0; .* 0 and 1",
    '{"variation": {"spikes": {"probability": 1, "factor": 0}}}': r"variation\.spikes\.factor is 0\.0",
    '{"variation": {"throttle": 3}}': r"variation\.throttle is 3; write an object or null",
    '{"variation": {"clock_states": {"factor": 1, "dwell_launches": 0}}}': r"dwell_launches is 0; it must be 1 or more",
    '{"compute_units": 1.5}': r"compute_units is 1\.5; write an integer",
    '{"compute_units": 0}': r"compute_units is 0; it must be 1 or more",
    '{"lost_after_launches": "soon"}': r"lost_after_launches is 'soon'; write an integer or null",
    '{"lost_after_launches": -1}': r"lost_after_launches is -1",
    '{"arch": ""}': r"arch is empty",
    '{"name": null}': r"name is None; write a text",
    '{"seed": 1, "seed": 2}': r"'seed' stands twice",
    '{"timer_step_seconds": 1e999}': r"timer_step_seconds is inf",
    "[]": r"the whole file is \[\]; write an object",
    '{"rules": [': r"damaged JSON: .*line 1 column",
    "": r"damaged JSON",
    '{"seed": ' + "9" * 5000 + "}": r"damaged JSON",
    '{"timer_step_seconds": ' + "9" * 400 + "}": r"damaged JSON",
    "[" * 100_000: r"damaged JSON",
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: text[:40])
def test_a_mistake_is_named_by_file_and_key(file, text):
    file.write_text(text)
    with pytest.raises(SettingsError, match=MISTAKES[text]) as error:
        read_script(file)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.json", tmp_path, tmp_path / "binary.json"):
        with pytest.raises(SettingsError, match="cannot be read") as error:
            read_script(path)
        assert str(path) in str(error.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
KEYS = [field.name for kind in (Script, KernelScript, Variation) for field in dataclasses.fields(kind)]


@given(st.dictionaries(st.sampled_from(KEYS), JSON | st.fixed_dictionaries({"rules": st.lists(JSON)}), max_size=4))
@settings(deadline=None, derandomize=True)
def test_any_json_is_a_script_or_a_settings_error(file, value):
    file.write_text(json.dumps(value))
    with contextlib.suppress(SettingsError):
        assert isinstance(read_script(file), Script)


def test_the_first_rule_that_matches_governs(file):
    rules = (
        KernelScript(kernel="conv_*", defines=(("TILE", "6?"), ("ELEMENT", "FP16"))),
        KernelScript(kernel="conv_fwd"),
    )
    script = Script(rules=rules)
    tiles = (("ELEMENT", "FP16"), ("TILE", "64"))
    assert script.rule_number(KernelSource(file="f", entry="conv_fwd", defines=tiles)) == 0
    assert script.rule_number(KernelSource(file="f", entry="conv_fwd", defines=tiles[:1])) == 1
    assert script.rule_number(KernelSource(file="f", entry="conv_bwd")) == -1
    assert script.rule(1) is rules[1]
    assert script.rule(-1) == KernelScript()
