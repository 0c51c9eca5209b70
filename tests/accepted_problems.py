"""What every solver answers to a fixed table of problems and to the bundled lists, as lines of text.

`python tests/accepted_problems.py` writes them to `tests/solvers/accepted_problems.txt`, where
`tests/solvers/test_accepted_problems.py` finds them; git shows what an intended change has changed. A line is

    solver | where the problems are from, and their kind | yes or the refusal's words | which of them

Of the table the types and layouts are listed. Of the lists, where numbers in a refusal are left out, the problems are
counted, and a digest of their names tells whether they are the same ones.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from sweep.kinds import kind_of, layout_of
from sweep.sample import problems_of

from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout
from pytest_miopen_perf.problems.workload import bundled
from pytest_miopen_perf.solvers import builtin_solvers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pytest_miopen_perf.solvers import Solver

GOLDEN = Path(__file__).parent / "solvers" / "accepted_problems.txt"
COMMAND = "python tests/accepted_problems.py"

CPU = DeviceInfo(
    backend="cpu", name="any", arch="x86_64", compute_units=2, wavefront=1, lds_bytes=65536, memory_bytes=2**33
)
GPU = DeviceInfo(
    backend="hip", name="any", arch="gfx942", compute_units=304, wavefront=64, lds_bytes=65536, memory_bytes=2**37
)

TABLE: dict[str, dict[str, object]] = {
    "3x3": {},
    "3x3 strided": {"stride": (2, 2)},
    "3x3 dilated": {"pad": (2, 2), "dilation": (2, 2)},
    "3x3 without pads": {"pad": (0, 0)},
    "3x3 padded widely": {"pad": (4, 3)},
    "1x1": {"filter": (1, 1), "pad": (0, 0)},
    "1x1 strided": {"filter": (1, 1), "pad": (0, 0), "stride": (2, 2)},
    "1x1 padded": {"filter": (1, 1), "pad": (1, 1)},
    "3x5 uneven": {"filter": (3, 5), "pad": (1, 2), "stride": (1, 2), "dilation": (2, 1)},
    "7x7 of an image": {"c": 3, "k": 64, "spatial": (224, 224), "filter": (7, 7), "pad": (3, 3), "stride": (2, 2)},
    "31x31 depthwise": {"c": 96, "k": 96, "groups": 96, "spatial": (56, 56), "filter": (31, 31), "pad": (15, 15)},
    "1-D": {"spatial": (1, 400), "filter": (1, 5), "pad": (0, 2)},
    "grouped": {"groups": 4},
    "depthwise": {"k": 8, "groups": 8},
    "depthwise multiplied": {"k": 16, "groups": 8},
    "depthwise strided": {"k": 8, "groups": 8, "stride": (2, 2)},
    "one output": {"spatial": (3, 3), "pad": (0, 0)},
    "one pixel, one channel": {"n": 1, "c": 1, "k": 1, "spatial": (1, 1), "filter": (1, 1), "pad": (0, 0)},
    "transposed": {"filter": (4, 4), "stride": (2, 2), "transposed": True},
    "transposed 3x3 of stride 1": {"transposed": True},
    "long sums": {"n": 64, "spatial": (112, 112)},
    "2^31 elements": {"n": 128, "c": 64, "k": 64, "spatial": (512, 512)},
    "2^31 pixels": {"spatial": (2**16, 2**15)},
    "2^31 channels": {"c": 2**31, "k": 1, "spatial": (3, 3)},
    "volume": {"spatial": (4, 8, 8)},
    "volume 1x1x1": {"spatial": (4, 8, 8), "filter": (1, 1, 1), "pad": (0, 0, 0)},
    "volume strided": {"spatial": (4, 8, 8), "stride": (1, 2, 2)},
    "volume depthwise": {"spatial": (4, 8, 8), "k": 8, "groups": 8},
    "volume transposed": {"spatial": (4, 8, 8), "filter": (2, 2, 2), "stride": (2, 2, 2), "transposed": True},
}
"""Changes of eight channels to sixteen, two images of 14x14 and a 3x3 filter padded to keep the size."""

_LAYOUTS = {
    2: ((Layout.NCHW,) * 3, (Layout.NHWC,) * 3, (Layout.CHWN,) * 3, (Layout.NHWC, Layout.NCHW, Layout.NHWC)),
    3: ((Layout.NCDHW,) * 3, (Layout.NDHWC,) * 3, (Layout.NDHWC, Layout.NCDHW, Layout.NDHWC)),
}
_NUMBER = re.compile(r"\b\d+\b")


def table_problems(kind: str) -> Iterator[ConvProblem]:
    """A row of the table in every direction, type and layout."""
    fields = {"n": 2, "c": 8, "k": 16, "spatial": (14, 14)} | TABLE[kind]
    rank = len(fields["spatial"])
    rest = {"filter": (3,) * rank, "pad": (1,) * rank, "stride": (1,) * rank, "dilation": (1,) * rank}
    for direction in Direction:
        for dtype in DType:
            for x, w, y in _LAYOUTS[rank]:
                layouts = {"in_layout": x, "fil_layout": w, "out_layout": y}
                yield ConvProblem(direction=direction, dtype=dtype, **layouts, **(rest | fields))


def answer_lines(solvers: Iterable[Solver]) -> Iterator[str]:
    """The lines of several solvers, those of one solver together, in the order of the alphabet."""
    listed = _listed()
    for solver in sorted(solvers, key=lambda solver: solver.name):
        lines = [
            *(line for kind in TABLE for line in _lines(solver, f"table, {kind}", table_problems(kind), str, _each)),
            *(line for kind in listed for line in _lines(solver, f"lists, {kind}", listed[kind], _numberless, _count)),
        ]
        yield from sorted(lines)


@functools.cache
def _listed() -> dict[str, list[ConvProblem]]:
    """The problems of the bundled lists by kind."""
    kinds: dict[str, list[ConvProblem]] = defaultdict(list)
    for problem in problems_of(bundled()):
        kinds[kind_of(problem)].append(problem)
    return kinds


def answer(solver: Solver, problem: ConvProblem) -> str:
    """Yes or the refusal; on a CPU and on a GPU where they differ."""
    plain = problem.canonical()
    on_cpu, on_gpu = (solver.refusal(plain, info) or "yes" for info in (CPU, GPU))
    return on_cpu if on_cpu == on_gpu else f"CPU {on_cpu}, GPU {on_gpu}"


def _lines(
    solver: Solver,
    title: str,
    problems: Iterable[ConvProblem],
    words: Callable[[str], str],
    summary: Callable[[list[ConvProblem]], str],
) -> Iterator[str]:
    answers: dict[str, list[ConvProblem]] = defaultdict(list)
    for problem in problems:
        if problem.canonical().direction in solver.directions:
            answers[words(answer(solver, problem))].append(problem)
    for text, several in answers.items():
        short = text.replace(f"{solver.name}: ", "").replace(f"{solver.name} ", "")
        yield f"{solver.name} | {title} | {short} | {summary(several)}"


def _numberless(text: str) -> str:
    return _NUMBER.sub("#", text)


def _each(problems: list[ConvProblem]) -> str:
    """Types that have the same layouts together: `FP32 FP16: NCHW NHWC, INT8: NCHW`; `all` for all that there are."""
    layouts: dict[str, list[str]] = defaultdict(list)
    for problem in problems:
        layouts[problem.dtype.value].append(layout_of(problem))
    types: dict[str, list[str]] = defaultdict(list)
    for dtype, several in layouts.items():
        types["all" if len(several) == len(_LAYOUTS[problems[0].rank]) else " ".join(several)].append(dtype)
    return ", ".join(
        f"{'all' if len(several) == len(DType) else ' '.join(several)}: {names}" for names, several in types.items()
    )


def _count(problems: list[ConvProblem]) -> str:
    names = "\n".join(sorted(map(str, problems)))
    return f"{len(problems)} {hashlib.sha256(names.encode()).hexdigest()[:6]}"


def main() -> None:
    """Write the golden file."""
    GOLDEN.write_text("".join(f"{line}\n" for line in answer_lines(builtin_solvers())))


if __name__ == "__main__":
    main()
