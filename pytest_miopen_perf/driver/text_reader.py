"""Reads MIOpenDriver's classic text output, line by line, in the wordings of all its releases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from pytest_miopen_perf.driver.directions import B, F, W
from pytest_miopen_perf.driver.host_names import without_host_names
from pytest_miopen_perf.driver.lines import physical_lines
from pytest_miopen_perf.driver.log_item import Note
from pytest_miopen_perf.driver.stats_row import read_stats_row
from pytest_miopen_perf.driver.text_lines import (
    ChosenSolution,
    Complaint,
    KernelTime,
    LibraryMessage,
    ListedSolution,
    RunFailure,
    SearchProgress,
    SolutionCount,
    StatsHeader,
    TextContent,
    TextItem,
    VerificationText,
    VerifiedDirection,
    WallClock,
)
from pytest_miopen_perf.records.run_records import CommandLine, PrngSeed, SystemInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_miopen_perf.driver.lines import TextStream

UNREADABLE = Note("unreadable", "the line looks like one of the driver's, but cannot be read")

_DIGITS = r"\d{1,20}"
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|(?:nan|inf)(?:\(\w*\))?)"
_BLOCKS = {"Forward": F, "Backward Data": B, "Backward Weights": W}
_BLOCK = rf"(?P<block>{'|'.join(_BLOCKS)})"
_VERIFIED: dict[str, VerifiedDirection] = {
    "Forward Convolution": "forward",
    "Backward Convolution Data": "backward_data",
    "Backward Convolution Weights": "backward_weights",
    "Backward Convolution Bias": "backward_bias",
}
_LIBRARY = re.compile(
    r"(?:^|\s)MIOpen\((?P<backend>\w+)\)\s*[\d.]*: (?P<level>\w+) \[(?P<function>[^\]]*)\] ?(?P<text>.*)"
)
_COMMAND = re.compile(
    r"^\s*(?:\S*\d\d:\d\d:\d\d\S*\s+)?(?:\+ )?(?:\S*[/\\])?(?P<command>MIOpenDriver(?:\.exe)?:? +[\w-].*)"
)
_SEARCHES = (
    re.compile(
        rf"(?P<done>{_DIGITS})/(?P<failed>{_DIGITS})/(?P<total>{_DIGITS}) {_NUMBER}, "
        rf"best within recent {_DIGITS}: (?P<best>{_NUMBER}) #-?{_DIGITS} ?(?P<config>.*)"
    ),
    re.compile(
        rf"(?P<end>Done): (?P<done>{_DIGITS})/(?P<failed>{_DIGITS})/(?P<total>{_DIGITS}), "
        rf"best #-?{_DIGITS} (?P<best>{_NUMBER}) ?(?P<config>.*)"
    ),
    re.compile(
        rf"Runs left: (?P<total>{_DIGITS}), min time so far: (?P<best>{_NUMBER}), curr time: {_NUMBER} ?(?P<config>.*)"
    ),
)
_NOT_MEASURED_MS = 3e38


def read_driver_text(stream: TextStream, source: str = "") -> Iterator[TextItem]:
    """Every line of the driver's text output; memory does not grow with it.

    Lines of JSON logs and of other programs have no content.

    Args:
        stream: An open file, binary or text, or any iterable of lines.
        source: The name of the stream, for the items.
    """
    for line in physical_lines(stream):
        raw = without_host_names(line.text)
        content, doubt = _content(raw)
        yield TextItem(
            source=source, line_number=line.number, raw=raw, content=content, repairs=line.repairs, doubt=doubt
        )


def _content(text: str) -> tuple[TextContent | None, Note | None]:
    is_known = False
    for rule in _RULES:
        if rule.word in text:
            is_known |= bool(rule.lead) and text.lstrip().startswith(rule.lead)
            match = rule.pattern.search(text)
            content = rule.build(match) if match is not None else None
            if content is not None:
                return content, None
    return None, UNREADABLE if is_known else None


# --- One line, one builder --------------------------------------------------------------------------------------------


def _library(match: re.Match[str]) -> TextContent:
    text = match["text"]
    for pattern in _SEARCHES:
        found = pattern.search(text)
        if found is not None:
            return _progress(found)
    return LibraryMessage(backend=match["backend"], level=match["level"], function=match["function"], text=text)


def _progress(match: re.Match[str]) -> SearchProgress:
    groups = match.groupdict()
    best = float(groups["best"].partition("(")[0])
    return SearchProgress(
        done=int(groups["done"]) if "done" in groups else None,
        failed=int(groups["failed"]) if "failed" in groups else None,
        total=int(groups["total"]),
        best_ms=best if 0 < best < _NOT_MEASURED_MS else None,
        best_config=groups["config"].partition("ETA:")[0].strip().rstrip(","),
        is_end="end" in groups,
    )


def _chosen(match: re.Match[str]) -> ChosenSolution:
    return ChosenSolution(
        direction=_BLOCKS[match["block"]],
        algorithm=int(match["algorithm"]),
        solver_id=int(match["id"]) if match["id"] else None,
        solver=(match["name"] or "").strip(),
    )


def _kernel_time(match: re.Match[str]) -> KernelTime:
    return KernelTime(
        direction=_BLOCKS[match["block"]], time_ms=_number(match["ms"]), is_bias=match["bias"] is not None
    )


def _wall_clock(match: re.Match[str]) -> WallClock:
    auxiliary = match["auxiliary"]
    return WallClock(
        direction=_BLOCKS[match["block"]],
        elapsed_ms=_number(match["ms"]),
        auxiliary_ms=_number(auxiliary) if auxiliary else None,
    )


def _stats(match: re.Match[str]) -> TextContent | None:
    row = match["row"].strip()
    if row.startswith("name"):
        return StatsHeader(columns=tuple(column.strip() for column in row.split(",")))
    return read_stats_row(row)


def _verification(match: re.Match[str]) -> VerificationText:
    numbers = [_number(number) for number in re.findall(rf"(?<![\w.]){_NUMBER}(?![\w.])", match["rest"])]
    reference = re.search(r"CPU and GPU|CPU|GPU", match["rest"])
    return VerificationText(
        direction=_VERIFIED[match["what"]],
        passed=match["verdict"] == "Verifies",
        error=numbers[0] if numbers else None,
        tolerance=numbers[1] if len(numbers) > 1 else None,
        reference=cast('Literal["", "CPU", "GPU", "CPU and GPU"]', reference[0] if reference else ""),
    )


def _failure(match: re.Match[str]) -> RunFailure:
    return RunFailure(call=match["call"], status=int(match["status"], 0 if match["status"].startswith("0x") else 10))


def _count(match: re.Match[str]) -> SolutionCount:
    return SolutionCount(direction=_BLOCKS[match["block"]], count=int(match["count"]))


def _listed(match: re.Match[str]) -> ListedSolution:
    return ListedSolution(
        solver_id=int(match["id"]),
        algorithm=int(match["algorithm"]),
        time_ms=_number(match["ms"]),
        workspace_bytes=int(match["workspace"]),
        solver=match["name"].strip(),
    )


def _machine(match: re.Match[str]) -> SystemInfo:
    fields = dict(part.strip().partition(": ")[::2] for part in match[0].split(";"))
    return SystemInfo(
        timestamp=fields.get("Timestamp", ""),
        hostname="",
        os=fields.get("Operating System", ""),
        cpu_vendor=fields.get("CPU Vendor", ""),
        cpu_model=fields.get("CPU Model", ""),
        ram_size=fields.get("RAM Size", ""),
        gpu_model=fields.get("GPU Model", ""),
        rocm=fields.get("ROCm", ""),
        miopen_version=fields.get("MIOpen Driver", ""),
        amdgpu_driver=fields.get("AMDGPU Driver", ""),
    )


def _number(text: str) -> float:
    return float(text.partition("(")[0])


class _Rule(NamedTuple):
    """How one kind of line is read.

    Attributes:
        word: What every such line has; looked for first, for speed.
        pattern: The line.
        build: Makes the data; None when the line is none after all.
        lead: How a line begins that only the driver prints, so that one which does not fit is told; "" for others.
    """

    word: str
    pattern: re.Pattern[str]
    build: Callable[[re.Match[str]], TextContent | None]
    lead: str = ""


_RULES = (
    _Rule("MIOpen(", _LIBRARY, _library),
    _Rule(
        " Conv. Algorithm: ",
        re.compile(
            rf"MIOpen {_BLOCK} Conv\. Algorithm: (?P<algorithm>-?{_DIGITS})"
            rf"(?:, Solution: (?P<id>{_DIGITS})/(?P<name>.*))?\s*$"
        ),
        _chosen,
        lead="MIOpen ",
    ),
    _Rule(
        "GPU Kernel Time ",
        re.compile(rf"GPU Kernel Time {_BLOCK} Conv\.(?P<bias> Bias)? Elapsed: (?P<ms>{_NUMBER}) ms"),
        _kernel_time,
        lead="GPU Kernel Time ",
    ),
    _Rule("stats: ", re.compile(r"stats: (?P<row>.*)"), _stats, lead="stats: "),
    _Rule(
        " Convolution",
        re.compile(rf"(?P<what>{'|'.join(_VERIFIED)}) (?P<verdict>Verifies|FAILED|Failed)(?P<rest>.*)"),
        _verification,
    ),
    _Rule(
        "() FAILED, rc = ",
        re.compile(rf"(?P<call>\w+)\(\) FAILED, rc = (?P<status>0x[0-9a-fA-F]{{1,16}}|-?{_DIGITS})"),
        _failure,
    ),
    _Rule(
        " Conv solutions available: ",
        re.compile(rf"{_BLOCK} Conv solutions available: (?P<count>{_DIGITS})"),
        _count,
    ),
    _Rule(
        "- id: ",
        re.compile(
            rf"- id: (?P<id>{_DIGITS}) algo: (?P<algorithm>-?{_DIGITS}), time: (?P<ms>{_NUMBER}) ms, "
            rf"ws: (?P<workspace>{_DIGITS}), name: (?P<name>.*)"
        ),
        _listed,
    ),
    _Rule(
        "Wall-clock Time ",
        re.compile(
            rf"Wall-clock Time {_BLOCK} Conv\. Elapsed: (?P<ms>{_NUMBER}) ms"
            rf"(?:, Auxiliary API calls: (?P<auxiliary>{_NUMBER}) ms)?"
        ),
        _wall_clock,
        lead="Wall-clock Time ",
    ),
    _Rule("Host Name: ", re.compile(r"Timestamp: .*"), _machine),
    _Rule(
        "PRNG seed: ",
        re.compile(r"PRNG seed: (?P<seed>\d{1,10})\b"),
        lambda match: PrngSeed(prng_seed=int(match["seed"])),
    ),
    *(
        _Rule(word, re.compile(rf"{re.escape(word)}.*"), lambda match: Complaint(text=match[0]))
        for word in (
            "Incorrect BaseArg",
            "Incorrect Convolution Mode",
            "Fatal: Number of iterations",
            "Invalid value for in_cast_type",
            "Invalid group number",
            "Invalid Base Input Argument",
            "Error getting workspace size",
            "Error copying data to GPU",
            "reference kernel fail to run",
            "Int8 Backward Convolution is not supported",
            "Skipping backward bias",
            "is not reported by the library",
        )
    ),
    _Rule("MIOpenDriver", _COMMAND, lambda match: CommandLine(command=match["command"].rstrip())),
)
