"""What the lines of MIOpenDriver's classic text output say, as data."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_miopen_perf.records.run_records import CommandLine, PrngSeed, SystemInfo

if TYPE_CHECKING:
    from pytest_miopen_perf.driver.log_item import Note
    from pytest_miopen_perf.problem import Direction

VerifiedDirection: TypeAlias = Literal["forward", "backward_data", "backward_weights", "backward_bias"]
"""The words of the JSON log for what was verified; the text has `Backward Convolution Weights` and so on."""


class StatsDialect(enum.Enum):
    """The two layouts of stats rows; they differ in backward data, and in a blank."""

    OLD = "old"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSolution:
    """Which solution a direction runs.

    Attributes:
        direction: The direction.
        algorithm: MIOpen's number of the algorithm family.
        solver_id: The solver's id; None in the oldest dialect, which names no solution.
        solver: Its name; "" where none is named, `UNKNOWN` where the driver does not know it.
    """

    direction: Direction
    algorithm: int
    solver_id: int | None
    solver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTime:
    """The average time of a direction; nan where the driver printed none.

    Attributes:
        direction: The direction.
        time_ms: Milliseconds, six decimals.
        is_bias: Whether it is that of the bias, not of the convolution.
    """

    direction: Direction
    time_ms: float
    is_bias: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WallClock:
    """Host times of a direction, with `-w 1`."""

    direction: Direction
    elapsed_ms: float
    auxiliary_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsRow:
    """A `stats:` row, its sizes put in order.

    Attributes:
        direction: The direction.
        name: `fwd-conv3x3u1`: direction, filter, first stride.
        dialect: Whose layout the sizes have.
        n: Batch.
        c: Input channels.
        k: Output channels.
        output: Output size.
        filter: Filter size.
        flops: Floating-point operations as counted by the driver.
        bytes_read: As counted by the driver.
        bytes_written: As counted by the driver.
        gflops: Rounded to an integer by the driver.
        gb_per_s: Rounded to an integer by the driver.
        time_ms: The average time again.
    """

    direction: Direction
    name: str
    dialect: StatsDialect
    n: int
    c: int
    k: int
    output: tuple[int, ...]
    filter: tuple[int, ...]
    flops: int
    bytes_read: int
    bytes_written: int
    gflops: float
    gb_per_s: float
    time_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsHeader:
    """The line of column names above a stats row."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationText:
    """The judgement of the numbers of one direction, in any wording.

    Attributes:
        direction: What was verified.
        passed: The verdict.
        error: The error figure; the largest double where the run failed, None where none is printed.
        tolerance: The greatest error that is OK; None in dialects that do not print it.
        reference: Where the reference was computed, "" where that is not said.
    """

    direction: VerifiedDirection
    passed: bool
    error: float | None
    tolerance: float | None
    reference: Literal["", "CPU", "GPU", "CPU and GPU"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailure:
    """A call of the driver that failed.

    Attributes:
        call: The driver's function.
        status: MIOpen's status; that of backward weights is shifted left by 16 bits.
    """

    call: str
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionCount:
    """How many solutions immediate mode lists for a direction."""

    direction: Direction
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSolution:
    """A solution that immediate mode lists; its time may come from a data base or be a guess, and is no measurement."""

    solver_id: int
    algorithm: int
    time_ms: float
    workspace_bytes: int
    solver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProgress:
    """Where a search stands.

    Attributes:
        done: Configs tried; None in the oldest dialect, which counts what is left.
        failed: Of these, failed.
        total: Configs to try; what is left in the oldest dialect.
        best_ms: The least time so far; None where nothing ran yet.
        best_config: The text of its config.
        is_end: Whether the search is over.
    """

    done: int | None
    failed: int | None
    total: int
    best_ms: float | None
    best_config: str
    is_end: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryMessage:
    """A line of the library's own log that says nothing of the above."""

    backend: str
    level: str
    function: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """The driver refuses its arguments, or warns."""

    text: str


TextContent: TypeAlias = (
    CommandLine
    | SystemInfo
    | PrngSeed
    | ChosenSolution
    | KernelTime
    | WallClock
    | StatsHeader
    | StatsRow
    | VerificationText
    | RunFailure
    | SolutionCount
    | ListedSolution
    | SearchProgress
    | LibraryMessage
    | Complaint
)
"""What a line of the text output may say. Host names are left out of `SystemInfo`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextItem:
    """One line of the text output.

    Attributes:
        source: The name of the stream, as the caller gave it.
        line_number: From 1.
        raw: The line without host names.
        content: What it says; None for blank lines and text of other programs.
        repairs: What had to be done to read it as text.
        doubt: Why a line that looks like one of the driver's could not be read, or None.
    """

    source: str
    line_number: int
    raw: str
    content: TextContent | None
    repairs: tuple[Note, ...] = ()
    doubt: Note | None = None
