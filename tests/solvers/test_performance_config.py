"""The text of a performance config: MIOpen's, read back as it was written; a wrong one is named field by field."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.solvers import PerformanceConfig


@dataclass(frozen=True, slots=True)
class Tile(PerformanceConfig):
    """Numbers and a text between them."""

    rows: int
    order: str
    columns: int


@dataclass(frozen=True, slots=True)
class Instance(PerformanceConfig):
    """A number and the name of a kernel instance."""

    split: int
    instance: str


INSTANCE = "DeviceGroupedConvFwd<256, 128, 64, Default>+2 BlkGemmPipelineVersion: v3"


@given(st.integers(), st.text().filter(lambda text: "," not in text), st.integers())
def test_what_is_written_is_read_back(rows, order, columns):
    config = Tile(rows, order, columns)
    assert Tile.parse(config.serialize()) == config


@given(st.integers(), st.text() | st.just(INSTANCE))
def test_a_last_text_may_hold_commas(split, instance):
    config = Instance(split, instance)
    assert Instance.parse(config.serialize()) == config


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Tile, "1,a", "Tile '1,a' has 2 values where 3 belong: rows, order, columns"),
        (Tile, "1,a,2,3", "Tile '1,a,2,3' has 4 values where 3 belong: rows, order, columns"),
        (Tile, "", "Tile '' has 0 values where 3 belong: rows, order, columns"),
        (Tile, "1,a,x", "Tile '1,a,x': columns is 'x', not an integer"),
        (Tile, "1.5,a,2", "Tile '1.5,a,2': rows is '1.5', not an integer"),
        (Instance, "two,a,b", "Instance 'two,a,b': split is 'two', not an integer"),
        (Instance, "2", "Instance '2' has 1 values where 2 belong: split, instance"),
        (PerformanceConfig, "1", "PerformanceConfig '1' has 1 values where 0 belong: "),
    ],
)
def test_a_text_that_does_not_fit_names_the_field(kind, text, words):
    with pytest.raises(ConfigError) as raised:
        kind.parse(text)
    assert str(raised.value) == words
