"""The line that MIOpenDriver writes after a Find: its variables, read as MIOpen reads them, and its directions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf import records
from pytest_miopen_perf.doctor.readings import read_unsigned
from pytest_miopen_perf.find_variables import find_time, find_variables
from pytest_miopen_perf.problem import Direction

NAMES = [name for name, _ in find_variables({})]
TEXTS = {"MIOPEN_DEBUG_FIND_ONLY_SOLVER", "MIOPEN_DEVICE_ARCH", "MIOPEN_DEVICE_CU"}


def test_nothing_set_gives_miopens_defaults():
    values = dict(find_variables({"HOME": "/"}))
    assert len(values) == 21
    assert (values["MIOPEN_FIND_MODE"], values["MIOPEN_FIND_ENFORCE"], values["MIOPEN_SEARCH_CUTOFF_MUL"]) == (5, 1, 10)
    assert values["MIOPEN_TUNING_PATIENCE"] == 2**64 - 1
    assert {name for name, value in values.items() if isinstance(value, str)} == TEXTS


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("MIOPEN_FIND_MODE", "1", 1),
        ("MIOPEN_FIND_MODE", "normal", 0),
        ("MIOPEN_FIND_ENFORCE", "0x3", 3),
        ("MIOPEN_DEBUG_CONV_FFT", "off", 0),
        ("MIOPEN_LOG_LEVEL", "-1", 2**64 - 1),
        ("MIOPEN_DEBUG_FIND_ONLY_SOLVER", 'Conv"Asm', 'Conv"Asm'),
        ("MIOPEN_TUNING_PATIENCE", "", 0),
    ],
)
def test_what_is_set_is_read_as_miopen_reads_it(name, text, value):
    assert dict(find_variables({name: text}))[name] == value


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=8)), st.sampled_from(Direction), st.floats(0, 1e6))
def test_every_line_is_valid_and_in_miopens_order(environment, direction, seconds):
    line = json.loads(find_time(direction, seconds, find_variables(environment)).to_line())
    records.validate(line)
    assert list(line["environment_variables"]) == NAMES
    for name, text in environment.items():
        expected = text if name in TEXTS else read_unsigned(text).value
        assert line["environment_variables"][name] == expected


def test_directions_have_the_words_of_this_line():
    words = [find_time(direction, 0.5, find_variables({})).direction for direction in Direction]
    assert words == ["forward", "backward-data", "backward-weights"]
    assert find_time(Direction.FORWARD, 0.5, ()).find_time_conv_ms == 500.0
