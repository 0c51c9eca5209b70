"""`miopen-perf devices`: where HIP kernels can run here."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.devices import DeviceOptions
    from pytest_miopen_perf.launch import DeviceInfo


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", metavar="NAME", help="only this back-end (default: all of them)")
    parser.add_argument("--device", metavar="N|PATH", default="", help="which device; the script of the scripted one")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.devices import BACKENDS, DeviceOptions

    names = [arguments.backend] if arguments.backend else list(BACKENDS)
    found = {name: _look(name, DeviceOptions(device=arguments.device)) for name in names}
    if arguments.json:
        screen.json({"devices": [_json(name, answer) for name, answer in found.items()]})
    else:
        for name, answer in found.items():
            screen.paragraph(_sentence(name, answer))
    is_found = any(
        not isinstance(answer, str) for name, answer in found.items() if name != "scripted" or len(found) == 1
    )
    return FINE if is_found else FINDINGS


def _look(name: str, options: DeviceOptions) -> DeviceInfo | str:
    """The device of a back-end, or why there is none."""
    from pytest_miopen_perf.devices import load_backend
    from pytest_miopen_perf.errors import DeviceUnavailableError

    backend = load_backend(name)
    reason = backend.probe(options)
    if reason:
        return reason
    try:
        device = backend.open_device(options)
    except DeviceUnavailableError as error:
        return str(error)
    try:
        return device.info
    finally:
        device.close()


def _json(name: str, answer: DeviceInfo | str) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"backend": name, "available": False, "reason": answer, "device": None}
    return {"backend": name, "available": True, "reason": "", "device": asdict(answer)}


def _sentence(name: str, answer: DeviceInfo | str) -> str:
    if isinstance(answer, str):
        return f"{name}: no device: {answer}"
    from pytest_miopen_perf.measuring.memory import byte_size

    details = (
        f"{answer.arch}, {answer.compute_units} compute units, wavefront {answer.wavefront}, "
        f"LDS {byte_size(answer.lds_bytes)}, memory {byte_size(answer.memory_bytes)}"
    )
    versions = "; ".join(text for text in (answer.compiler, answer.driver, answer.runtime) if text)
    return f"{name}: {answer.name} ({details}){f'; {versions}' if versions else ''}"


SUBCOMMAND = Subcommand(
    name="devices",
    summary="where HIP kernels can run here",
    description="Opens the device of each back-end and tells what it is, or why there is none. The scripted device is "
    "always there: it has no hardware, and its times come from a script.",
    examples=(
        ("miopen-perf devices", "all back-ends"),
        ("miopen-perf devices --backend cpu --json", "one of them, for a program"),
    ),
    findings="no device but the scripted one",
    add_arguments=_add_arguments,
    run=_run,
)
