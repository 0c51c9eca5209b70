"""Tables of text: what is folded stays under its beginning."""

import pytest

from pytest_miopen_perf.report.text_table import Column, table_lines


@pytest.mark.parametrize("indent", [0, 2, 6])
@pytest.mark.parametrize("text", ["x" * 90, "several words " * 6])
def test_a_long_cell_goes_on_under_its_first_word(text, indent):
    rows = [("name", "1"), (" " * indent + text, "2")]
    _, _, *lines = table_lines((Column("what", folds=True), Column("n", "right")), rows, width=40, has_colour=False)
    assert len(lines) > 2
    assert all(len(line) - len(line.lstrip()) == indent for line in lines)
    assert lines[0].endswith("2")
    assert "".join(lines).replace("2", "").replace(" ", "") == text.replace(" ", "")
