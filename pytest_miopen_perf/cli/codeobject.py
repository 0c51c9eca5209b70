"""`miopen-perf codeobject`: what kernels take on AMD GPUs, and whether that is worse than before; no GPU is needed."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.codeobject.baseline import Baseline
    from pytest_miopen_perf.codeobject.cases import StaticCase
    from pytest_miopen_perf.codeobject.gate import StaticGate
    from pytest_miopen_perf.codeobject.judgement import StaticJudgement
    from pytest_miopen_perf.codeobject.limits import StaticLimits
    from pytest_miopen_perf.launch import KernelSource

_WHOLE_FILE = "(whole file)"
"""What stands for the kernels of a file that does not compile: nobody knows their names."""

_FOLDER = Path(".miopen-perf")
"""Where baselines by name are, below the current folder; the same as in pytest."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_miopen_perf.cli.named_problems import HELP

    parser.add_argument("what", nargs="+", metavar="FILE.hip|PROBLEMS", help=f"a file of HIP text; {HELP}")
    parser.add_argument("--arch", metavar="TARGET,...", help="AMD targets (default: those of the baseline, else all)")
    own = parser.add_argument_group("files of HIP text")
    own.add_argument("--entry", action="append", default=[], metavar="NAME", help="only these kernels; may be repeated")
    own.add_argument(
        "-D", dest="defines", action="append", default=[], metavar="NAME[=VALUE]", help="a macro; may be repeated"
    )
    own.add_argument("--block", type=int, metavar="N", help="work-items of a work-group (default: its launch bounds)")
    own.add_argument("--shared", type=int, default=0, metavar="BYTES", help="dynamic shared memory of a work-group")
    planned = parser.add_argument_group("problems")
    planned.add_argument("--solver", action="append", default=[], metavar="GLOB", help="only these; may be repeated")
    planned.add_argument("--config", metavar="TEXT", help="one performance config, in MIOpen's comma form")
    planned.add_argument(
        "--configs",
        choices=("known", "all"),
        default="known",
        help="the default config and the tuned one of --db, or every valid one (default: known)",
    )
    planned.add_argument("--db", type=Path, metavar="DIR", help="the data base of tuned configs")
    gate = parser.add_argument_group("the gate")
    gate.add_argument("--compare", metavar="NAME|PATH", help="judge against this baseline")
    gate.add_argument("--save", metavar="NAME|PATH", help="keep the figures as a baseline, unless there are findings")
    gate.add_argument("--limits", metavar="NAME=MORE,...", help="how much worse is a pass, such as lds=10%%,waves=2")
    gate.add_argument("--strict", action="store_true", help="exit code 1 also for what is new or vanished")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where code objects are kept (default: the user's)")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.codeobject.baseline_file import baseline_path, load_baseline
    from pytest_miopen_perf.codeobject.gate import open_gate

    save_path = _save_path(arguments.save)
    baseline = None if arguments.compare is None else load_baseline(baseline_path(arguments.compare, _FOLDER))
    limits = _limits(arguments.limits)
    _check_db(arguments.db)
    with contextlib.closing(open_gate(baseline=baseline, limits=limits, cache_dir=arguments.cache)) as gate:
        targets = _targets(arguments.arch, baseline, gate)
        cases = [*_file_cases(arguments, targets, gate), *_problem_cases(arguments, targets, screen)]
        judgements = _judged(cases, gate)
    _show(judgements, limits, arguments, screen)
    lacking, vanished = _lacking(arguments.what, cases), _vanished(arguments, baseline, judgements)
    for sentence in (*lacking, *vanished):
        screen.remark(sentence)
    is_strict = arguments.strict
    is_incomplete = bool(lacking or (is_strict and vanished))
    is_red = is_incomplete or any(judgement.is_red(is_strict=is_strict) for judgement in judgements)
    if save_path is not None:
        _save(save_path, judgements, screen, is_red=is_red)
    return FINDINGS if is_red else FINE


def _show(
    judgements: Sequence[StaticJudgement], limits: StaticLimits, arguments: argparse.Namespace, screen: Screen
) -> None:
    if arguments.json:
        from pytest_miopen_perf.report.codeobject_file import static_document

        screen.json(static_document(judgements, limits, arguments.compare or ""))
    else:
        from pytest_miopen_perf.report.codeobject_table import static_footer_lines, static_table_lines

        screen.lines(static_table_lines(judgements, has_colour=screen.has_colour))
        screen.lines(static_footer_lines(judgements))
        if words := _compilers_words(judgements):
            screen.remark(words)


def _lacking(what: Sequence[str], cases: Sequence[StaticCase]) -> list[str]:
    """What was named and has no kernel, a sentence each: files one by one, problems all together."""
    files = {case.kernel.file for case in cases if not case.solver}
    sentences = [f"{name} holds no kernel" for name in what if _is_hip(name) and _hip_path(name) not in files]
    if not all(map(_is_hip, what)) and not any(case.solver for case in cases):
        sentences.append("no solver has a kernel for any of these problems on any of these targets")
    return sentences


def _vanished(
    arguments: argparse.Namespace, baseline: Baseline | None, judgements: Sequence[StaticJudgement]
) -> list[str]:
    """That the baseline holds kernels that are no more; [] where options select a part of the kernels."""
    from pytest_miopen_perf.codeobject.baseline import absence

    if arguments.entry or arguments.solver or arguments.config:
        return []
    return list(filter(None, [absence(baseline or {}, (judgement.key for judgement in judgements))]))


def _save_path(text: str | None) -> Path | None:
    """Where the baseline goes.

    Raises:
        BaselineError: nothing can be saved there.
    """
    from pytest_miopen_perf.codeobject.baseline_file import baseline_path
    from pytest_miopen_perf.static_gate.saving import check_savable

    if text is None:
        return None
    path = baseline_path(text, _FOLDER)
    check_savable(path)
    return path


def _check_db(folder: Path | None) -> None:
    from pytest_miopen_perf.errors import InputError

    if folder is not None and not folder.is_dir():
        raise InputError(f"--db is {folder}, which is no folder that is there; give that of --miopen-perf-db")


def _compilers_words(judgements: Iterable[StaticJudgement]) -> str:
    """All that the compiler says of the first kernel that it refuses; "" when it refuses none."""
    refused = (reason for judgement in judgements if judgement.now is None for reason in judgement.reasons)
    return next((reason.rstrip() for reason in refused if "\n" in reason), "")


def _limits(text: str | None) -> StaticLimits:
    from pytest_miopen_perf.codeobject.limits import StaticLimits, parse_limits
    from pytest_miopen_perf.errors import InputError

    try:
        return StaticLimits() if text is None else parse_limits(text)
    except ValueError as error:
        raise InputError(f"--limits is {text!r}: {error}") from error


def _targets(text: str | None, baseline: Baseline | None, gate: StaticGate) -> tuple[str, ...]:
    """What to compile for: the named targets, else those of the baseline, else all that the compiler knows.

    Raises:
        SettingsError: a target is unknown.
        DeviceUnavailableError: the compiler cannot build for a named target, or for none of the others.
    """
    from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES
    from pytest_miopen_perf.codeobject.gate import targets_of
    from pytest_miopen_perf.codeobject.toolchain import parse_targets
    from pytest_miopen_perf.errors import DeviceUnavailableError

    if text is None or text == "all":
        chosen = targets_of(baseline) if text is None else ()
        wanted = chosen or tuple(ARCHITECTURES)
        if found := tuple(target for target in wanted if not gate.refusal(target)):
            return found
        raise DeviceUnavailableError("; ".join(map(gate.refusal, wanted)))
    named = parse_targets(text)
    for target in named:
        if reason := gate.refusal(target):
            raise DeviceUnavailableError(reason)
    return named


def _file_cases(arguments: argparse.Namespace, targets: Sequence[str], gate: StaticGate) -> Iterator[StaticCase]:
    """The kernels of the files of HIP text among what was named."""
    from pytest_miopen_perf.codeobject.cases import own_case
    from pytest_miopen_perf.launch import KernelSource

    macros = (text.partition("=") for text in arguments.defines)
    defines = tuple((name, value if equals else "1") for name, equals, value in macros)
    for name in filter(_is_hip, arguments.what):
        whole = KernelSource(file=_hip_path(name), entry="", defines=defines)
        for entry in arguments.entry or _entries(whole, targets, gate):
            kernel = KernelSource(file=whole.file, entry=entry, defines=defines)
            for target in targets:
                case = own_case(kernel, arguments.block, arguments.shared, target=target)
                yield replace(case, name=case.name or _WHOLE_FILE)


def _is_hip(name: str) -> bool:
    return name.endswith(".hip")


def _hip_path(name: str) -> str:
    return str(Path(name).absolute())


def _entries(kernel: KernelSource, targets: Sequence[str], gate: StaticGate) -> list[str]:
    """The kernels of a file, as the first target shows them that it compiles for.

    Returns:
        Their names; where it compiles for none, "" for all of them.

    Raises:
        InputError: there is no such file.
    """
    from pytest_miopen_perf.codeobject.metadata import read_resources
    from pytest_miopen_perf.errors import CompileError, InputError

    if not Path(kernel.file).is_file():
        raise InputError(f"{kernel.file} is no file; name a file of HIP text")
    for built in gate.builder.build_all((kernel, target) for target in targets):
        if not isinstance(built, CompileError):
            return list(read_resources(built))
    return [""]


def _problem_cases(arguments: argparse.Namespace, targets: Sequence[str], screen: Screen) -> Iterator[StaticCase]:
    from pytest_miopen_perf.cli.named_problems import named_problems
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import builtin_solvers
    from pytest_miopen_perf.solvers.selection import select
    from pytest_miopen_perf.static_gate.planning import known_in, nothing_known, planned_kernels

    names = [name for name in arguments.what if not _is_hip(name)]
    solvers = select(arguments.solver, builtin_solvers())
    settings = Settings(config=arguments.config, static_configs=arguments.configs)
    known = nothing_known if arguments.db is None else known_in(arguments.db, solvers)
    found = named_problems(names)
    for skipped in found.skipped:
        screen.remark(f"{skipped.source}, line {skipped.line_number}: {skipped.reason}")
    for problem in found.counts:
        yield from (planned.case for planned in planned_kernels(problem, solvers, targets, settings, known))


def _judged(cases: Sequence[StaticCase], gate: StaticGate) -> tuple[StaticJudgement, ...]:
    from pytest_miopen_perf.report.compile_progress import compile_progress

    distinct = {(case.kernel, case.target) for case in cases}
    with compile_progress(len(distinct)) as advance:
        return gate.judge(cases, advance)


def _save(path: Path, judgements: Sequence[StaticJudgement], screen: Screen, *, is_red: bool) -> None:
    from pytest_miopen_perf.codeobject.gate import accept

    if is_red:
        screen.remark(f"no baseline is saved, since there are findings; {path} is as it was")
    else:
        screen.remark(f"saved {counted(accept(path, judgements), 'kernel')} to {path}")


SUBCOMMAND = Subcommand(
    name="codeobject",
    summary="what kernels take on AMD GPUs, with no GPU",
    description="Compiles kernels for AMD GPUs and tells registers, spills, shared memory, scratch, code and the "
    "occupancy that follows: of every kernel of a file, or of every solver that can compute a problem. It needs "
    "neither GPU nor ROCm, only the extra amdgpu. What spills, does not fit or does not compile is a finding; so is "
    "what grows past the limits against a baseline. Compilers are never compared: another one is no baseline.",
    examples=(
        ("miopen-perf codeobject saxpy.hip --arch gfx942,gfx1201 -D TILE=4", "every kernel of a file"),
        ("miopen-perf codeobject smoke --arch gfx942 --save main", "a workload, kept as a baseline"),
        ("miopen-perf codeobject smoke --compare main --limits lds=10%", "and judged against it"),
    ),
    findings="kernels that spill, do not fit, do not compile, or are worse than the baseline",
    add_arguments=_add_arguments,
    run=_run,
)
