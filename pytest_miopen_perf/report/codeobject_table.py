"""The table of the static gate: what kernels take on each target, worst news first, in 80 columns."""

from __future__ import annotations

import io
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.baseline import StaticVerdict, figures_of
from pytest_miopen_perf.codeobject.table import Compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.table import Table

    from pytest_miopen_perf.codeobject.baseline import StaticFigures, StaticJudgement

_WIDE = 200
"""Columns never wrap: a row of the table is one line."""

_HEADINGS = ("target", "VGPR", "AGPR", "SGPR", "spill", "LDS", "scratch", "code", "waves", "by", "verdict")
_FAULTY = "FAULTY"
_WORDS = {
    StaticVerdict.PASS: "ok",
    StaticVerdict.REGRESSION: "WORSE",
    StaticVerdict.IMPROVED: "better",
    StaticVerdict.NO_BASELINE: "new",
}
_STYLES = {_FAULTY: "bold red", "WORSE": "bold red", "better": "green", "ok": "green"}
_RANK = ("WORSE", _FAULTY, "new", "better", "ok")

Row = tuple[str, ...]


def static_table_lines(judgements: Sequence[StaticJudgement], compiler: str, *, has_colour: bool) -> list[str]:
    """The table as lines of text, with colour codes where the terminal shows colour; [] without judgements.

    A problem on a line, then each kernel with its solver and config, then its targets. Waves are those of a SIMD, of
    the most that it holds, and what keeps more of them out; a figure that changed shows what it was. Sentences follow
    for what is worse, faulty or new.
    """
    if not judgements:
        return []
    groups = sorted(_by_kernel(judgements).items(), key=lambda item: min(map(_badness, item[1])))
    ordered = [(heading, sorted(group, key=_badness)) for heading, group in groups]
    header, *lines = _rendered(
        _table(_target_row(each) for _, group in ordered for each in group), has_colour=has_colour
    )
    remaining = iter(lines)
    body = [line for heading, group in ordered for line in (*heading.split("\n"), *islice(remaining, len(group)))]
    return [header, *_without_repeats(body), "", *_footer([each for _, group in ordered for each in group], compiler)]


def _by_kernel(judgements: Iterable[StaticJudgement]) -> dict[str, list[StaticJudgement]]:
    groups: dict[str, list[StaticJudgement]] = {}
    for judgement in judgements:
        case = judgement.row.case
        heading = f"{case.problem}\n  {case.solver} {case.config}".rstrip() + f" {case.kernel.entry}"
        groups.setdefault(heading, []).append(judgement)
    return groups


def _without_repeats(lines: Iterable[str]) -> Iterator[str]:
    """A problem is named once for all its kernels that follow one another."""
    named = ""
    for line in lines:
        is_problem = not line.startswith(" ")
        if not is_problem or line != named:
            yield line
        named = line if is_problem else named


def _badness(judgement: StaticJudgement) -> int:
    return _RANK.index(_word(judgement))


def _word(judgement: StaticJudgement) -> str:
    if judgement.verdict is not StaticVerdict.REGRESSION and judgement.faults:
        return _FAULTY
    return _WORDS[judgement.verdict]


def _target_row(judgement: StaticJudgement) -> Row:
    target, outcome = judgement.row.case.target, judgement.row.outcome
    if not isinstance(outcome, Compiled):
        return (f"    {target}", *[""] * (len(_HEADINGS) - 2), _word(judgement))
    now, before, held = figures_of(outcome), judgement.before, outcome.occupancy
    return (
        f"    {target}",
        *(_figure(now, before, name) for name in ("vgprs", "agprs", "sgprs")),
        _change(_spills(now), None if before is None else _spills(before)),
        *(_figure(now, before, name) for name in ("lds_bytes", "scratch_bytes", "code_bytes")),
        f"{held.waves_per_simd}/{held.most_waves // held.simds}",
        "" if "waves" in held.limited_by else "+".join(held.limited_by),
        _word(judgement),
    )


def _spills(figures: StaticFigures) -> str:
    """Vector registers, and scalar ones behind them where there are any: `3`, `0+5s`."""
    return str(figures.vgpr_spills) + (f"+{figures.sgpr_spills}s" if figures.sgpr_spills else "")


def _figure(now: StaticFigures, before: StaticFigures | None, name: str) -> str:
    return _change(str(getattr(now, name)), None if before is None else str(getattr(before, name)))


def _change(now: str, before: str | None) -> str:
    return now if before in (None, now) else f"{before}>{now}"


def _table(rows: Iterable[Row]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for index, heading in enumerate(_HEADINGS):
        is_text = index in (0, len(_HEADINGS) - 2, len(_HEADINGS) - 1)
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=True, header_style="bold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    return table


def _rendered(table: Table, *, has_colour: bool) -> list[str]:
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=_WIDE, force_terminal=has_colour, no_color=not has_colour, highlight=False).print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _footer(judgements: Sequence[StaticJudgement], compiler: str) -> Iterator[str]:
    for judgement in judgements:
        case = judgement.row.case
        sentences = (*(judgement.reasons if judgement.verdict is StaticVerdict.REGRESSION else ()), *judgement.faults)
        for sentence in sentences:
            yield f"{case.target} {case.kernel.entry} {case.config}: {sentence.splitlines()[0]}"
    yield from dict.fromkeys(r for j in judgements if j.verdict is StaticVerdict.NO_BASELINE for r in j.reasons)
    counts = Counter(map(_word, judgements))
    yield f"compiler {compiler}; no GPU was used"
    yield "kernels  " + ", ".join(f"{counts[word]} {word}" for word in _RANK if counts[word])
