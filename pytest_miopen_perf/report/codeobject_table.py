"""The table of the static gate: what kernels take on each target, worst news first, in 80 columns."""

from __future__ import annotations

import io
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.judgement import StaticVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.table import Table

    from pytest_miopen_perf.codeobject.baseline import StaticFigures
    from pytest_miopen_perf.codeobject.judgement import StaticJudgement

_WIDE = 200
"""Columns never wrap: a row of the table is one line."""

_HEADINGS = ("target", "VGPR", "AGPR", "SGPR", "spill", "LDS", "scratch", "kernarg", "code", "waves", "by", "verdict")
_TEXTS = {"target", "by", "verdict"}
_STYLES = {
    "REGRESSION": "bold red",
    "FAULTY": "bold red",
    "NO_BASELINE": "yellow",
    "IMPROVED": "green",
    "PASS": "green",
}
_RANK = list(StaticVerdict)
_TOLD = {StaticVerdict.REGRESSION, StaticVerdict.FAULTY, StaticVerdict.IMPROVED}
"""What has sentences of its own."""

Row = tuple[str, ...]


def static_table_lines(judgements: Sequence[StaticJudgement], *, has_colour: bool) -> list[str]:
    """The table as lines of text, with colour codes where the terminal shows colour; [] without judgements.

    A problem on a line, then each kernel with its solver and config, then its targets. Waves are those of a SIMD, of
    the most that it holds, and what keeps more of them out; a figure that changed shows what it was. Sentences follow
    for what is worse, faulty, better or new.
    """
    if not judgements:
        return []
    groups = sorted(_by_kernel(judgements).items(), key=lambda item: min(map(_badness, item[1])))
    ordered = [(heading, sorted(group, key=_badness)) for heading, group in groups]
    header, *lines = _rendered(
        _table(_target_row(each) for _, group in ordered for each in group), has_colour=has_colour
    )
    remaining = iter(lines)
    body = [line for heading, group in ordered for line in (*heading, *islice(remaining, len(group)))]
    return [header, *_without_repeats(body), "", *_sentences([each for _, group in ordered for each in group])]


def static_footer_lines(judgements: Sequence[StaticJudgement]) -> list[str]:
    """How many kernels have which verdict, and whose compiler said so; [] without judgements."""
    counts = Counter(judgement.verdict for judgement in judgements)
    compilers = dict.fromkeys(judgement.key.compiler for judgement in judgements)
    return [
        *(f"compiler {compiler}; no GPU was used" for compiler in compilers),
        *(
            ["kernels  " + ", ".join(f"{counts[each]} {each.value}" for each in _RANK if counts[each])]
            if counts
            else []
        ),
    ]


def _by_kernel(judgements: Iterable[StaticJudgement]) -> dict[tuple[str, str], list[StaticJudgement]]:
    groups: dict[tuple[str, str], list[StaticJudgement]] = {}
    for judgement in judgements:
        problem, *words = judgement.key.launch
        groups.setdefault((problem, "  " + " ".join(filter(None, words))), []).append(judgement)
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
    return _RANK.index(judgement.verdict)


def _word(judgement: StaticJudgement) -> str:
    return "" if judgement.verdict is StaticVerdict.NOT_COMPARED else judgement.verdict.value


def _target_row(judgement: StaticJudgement) -> Row:
    target, now, before, held = judgement.key.target, judgement.now, judgement.before, judgement.occupancy
    if now is None or held is None:
        return (f"    {target}", *[""] * (len(_HEADINGS) - 2), _word(judgement))
    return (
        f"    {target}",
        *(_figure(now, before, name) for name in ("vgprs", "agprs", "sgprs")),
        _change(_spills(now), None if before is None else _spills(before)),
        *(_figure(now, before, name) for name in ("lds_bytes", "scratch_bytes", "kernarg_bytes", "code_bytes")),
        f"{_change(_waves(now), None if before is None else _waves(before))}/{held.most_waves // held.simds}",
        "" if "waves" in held.limited_by else "+".join(held.limited_by),
        _word(judgement),
    )


def _waves(figures: StaticFigures) -> str:
    """Of the fullest SIMD, as compilers report occupancy."""
    return str(-(-figures.waves // figures.simds))


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
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading in _TEXTS else "right", no_wrap=True, header_style="bold")
    for row in rows:
        table.add_row(*(Text(cell, style=_style(cell)) for cell in row))
    return table


def _style(cell: str) -> str:
    """Of a verdict by its word; a changed figure stands out."""
    return "bold" if ">" in cell else _STYLES.get(cell, "")


def _rendered(table: Table, *, has_colour: bool) -> list[str]:
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=_WIDE, force_terminal=has_colour, no_color=not has_colour, highlight=False).print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _sentences(judgements: Sequence[StaticJudgement]) -> Iterator[str]:
    for judgement in judgements:
        if judgement.verdict in _TOLD:
            for reason in judgement.reasons:
                yield f"{judgement.key.target} {judgement.key.kernel}: {reason.splitlines()[0]}"
    yield from dict.fromkeys(r for j in judgements if j.verdict is StaticVerdict.NO_BASELINE for r in j.reasons)
