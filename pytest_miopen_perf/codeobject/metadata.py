"""From a code object to what its kernels take: registers, spills, shared memory, scratch, code and arguments.

The compiler writes this itself: an ELF note of owner `AMDGPU`, type 32, holds a msgpack map whose keys stand in LLVM's
"User Guide for AMDGPU Backend", code object V3 metadata and later.
"""

from __future__ import annotations

import importlib.util
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_miopen_perf.errors import CodeObjectError, DeviceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from elftools.elf.elffile import ELFFile

_NOTE_OWNER = "AMDGPU"
_NOTE_TYPES = (32, "NT_AMDGPU_METADATA")
_MACHINE = "EM_AMDGPU"
_TARGET_PREFIX = "amdgcn-amd-amdhsa--"
_WAVEFRONTS = (32, 64)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelArgument:
    """One argument as the kernel reads it.

    Attributes:
        offset: Bytes from the start of the kernarg segment.
        size: Bytes.
        kind: The metadata's `value_kind`: "by_value", "global_buffer", "hidden_block_count_x" and so on.
    """

    offset: int
    size: int
    kind: str

    @property
    def is_hidden(self) -> bool:
        """Whether the runtime fills it in, behind what a launch passes."""
        return self.kind.startswith("hidden_")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResources:
    """What one kernel of a code object takes; registers are counted a lane.

    Attributes:
        name: The kernel's entry point.
        target: What it was compiled for, for example `gfx90a:sramecc+:xnack-`.
        vgprs: Vector registers; AccVGPRs are among them where the register file is unified (CDNA2 and later).
        agprs: Accumulation registers; 0 where there are none.
        sgprs: Scalar registers.
        vgpr_spills: Vector registers stored to scratch, because there were too few.
        sgpr_spills: Scalar registers moved to lanes of vector registers.
        lds_bytes: Static shared memory of a work-group.
        scratch_bytes: Private memory of a work-item: spills, and arrays that are not in registers.
        kernarg_bytes: The kernarg segment, hidden arguments included.
        code_bytes: Machine code.
        wavefront: Work-items of a wave.
        most_work_items: Most work-items of a work-group that it was compiled for.
        is_processor_mode: Work-groups spread over the two compute units of a work-group processor (RDNA).
        args: Every argument in order.
    """

    name: str
    target: str
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    code_bytes: int
    wavefront: int
    most_work_items: int
    is_processor_mode: bool
    args: tuple[KernelArgument, ...]


def read_resources(code_object: bytes) -> dict[str, KernelResources]:
    """Every kernel of a code object by name.

    Raises:
        CodeObjectError: the bytes are no AMD GPU code object, or a damaged one.
        DeviceUnavailableError: pyelftools or msgpack is not installed; the message says what to install.
    """
    elf = _opened(code_object)
    notes, code_sizes = _attempt(lambda: (_metadata_notes(elf), _function_sizes(elf)))
    if not notes:
        raise CodeObjectError("the ELF file holds no AMDGPU metadata note; it is no code object of version 3 or later")
    fields = _unpacked(notes[0])
    target = _field(fields, "amdhsa.target", str).removeprefix(_TARGET_PREFIX)
    kernels = [_kernel(kernel, target, code_sizes) for kernel in _maps(fields, "amdhsa.kernels")]
    return {kernel.name: kernel for kernel in kernels}


def kernel_resources(code_object: bytes, entry: str) -> KernelResources:
    """One kernel of a code object.

    Raises:
        CodeObjectError: as `read_resources`, or there is no such kernel; the message lists what there is.
        DeviceUnavailableError: as `read_resources`.
    """
    kernels = read_resources(code_object)
    if entry not in kernels:
        raise CodeObjectError(f"the code object holds no kernel {entry!r}; it holds: {', '.join(kernels) or 'none'}")
    return kernels[entry]


def reading_refusal() -> str:
    """Why no code object can be read here, in words; "" when one can."""
    readers = {"elftools": "pyelftools>=0.30", "msgpack": "msgpack>=1.0"}
    missing = [name for name in readers if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    advice = " ".join(f"'{readers[name]}'" for name in missing)
    return f"AMD code objects cannot be read without {' and '.join(missing)}: pip install {advice}"


def _opened(code_object: bytes) -> ELFFile:
    if reason := reading_refusal():
        raise DeviceUnavailableError(reason)
    from elftools.elf.elffile import ELFFile

    elf = _attempt(lambda: ELFFile(io.BytesIO(code_object)))
    if elf["e_machine"] != _MACHINE:
        raise CodeObjectError(f"the ELF file is for {elf['e_machine']}, not for an AMD GPU ({_MACHINE})")
    return elf


def _attempt(read: Callable[[], T]) -> T:
    """What pyelftools reads.

    It was not made for damaged files: besides its own error it raises whatever its parsing stumbles over.
    """
    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError

    stumbles = (ELFError, ConstructError, ValueError, TypeError, LookupError, AttributeError, AssertionError)
    try:
        return read()
    except (*stumbles, OverflowError, MemoryError) as error:
        raise CodeObjectError(f"this is no ELF file, or a damaged one ({type(error).__name__}: {error})") from error


def _metadata_notes(elf: ELFFile) -> list[bytes]:
    from elftools.elf.sections import NoteSection

    return [
        note["n_descdata"]
        for section in elf.iter_sections()
        if isinstance(section, NoteSection)
        for note in section.iter_notes()
        if note["n_name"] == _NOTE_OWNER and note["n_type"] in _NOTE_TYPES
    ]


def _function_sizes(elf: ELFFile) -> dict[str, int]:
    """Bytes of machine code of every function that the dynamic symbol table names."""
    from elftools.elf.sections import SymbolTableSection

    return {
        symbol.name: symbol["st_size"]
        for section in elf.iter_sections()
        if isinstance(section, SymbolTableSection)
        for symbol in section.iter_symbols()
        if symbol["st_info"]["type"] == "STT_FUNC"
    }


def _unpacked(note: bytes) -> Mapping[str, Any]:
    import msgpack  # type: ignore[import-untyped,import-not-found,unused-ignore]  # it ships no types

    try:
        fields = msgpack.unpackb(note)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise CodeObjectError(f"the metadata of the code object is damaged: {error}") from error
    if not isinstance(fields, dict):
        raise CodeObjectError(f"the metadata of the code object is a {type(fields).__name__}, not a map")
    return fields


def _kernel(fields: Mapping[str, Any], target: str, code_sizes: Mapping[str, int]) -> KernelResources:
    name = _field(fields, ".name", str)
    if name not in code_sizes:
        raise CodeObjectError(f"the metadata names the kernel {name!r}, and the symbol table has no such function")
    wavefront = _count(fields, ".wavefront_size")
    if wavefront not in _WAVEFRONTS:
        raise CodeObjectError(f"the metadata of the code object is damaged: a wave of {wavefront} work-items")
    return KernelResources(
        name=name,
        target=target,
        vgprs=_count(fields, ".vgpr_count"),
        agprs=_count(fields, ".agpr_count", 0),
        sgprs=_count(fields, ".sgpr_count"),
        vgpr_spills=_count(fields, ".vgpr_spill_count", 0),
        sgpr_spills=_count(fields, ".sgpr_spill_count", 0),
        lds_bytes=_count(fields, ".group_segment_fixed_size"),
        scratch_bytes=_count(fields, ".private_segment_fixed_size"),
        kernarg_bytes=_count(fields, ".kernarg_segment_size"),
        code_bytes=code_sizes[name],
        wavefront=wavefront,
        most_work_items=_count(fields, ".max_flat_workgroup_size", least=1),
        is_processor_mode=bool(_field(fields, ".workgroup_processor_mode", int, 0)),
        args=tuple(_argument(argument) for argument in _maps(fields, ".args", [])),
    )


def _argument(fields: Mapping[str, Any]) -> KernelArgument:
    return KernelArgument(
        offset=_count(fields, ".offset"),
        size=_count(fields, ".size"),
        kind=_field(fields, ".value_kind", str),
    )


def _maps(fields: Mapping[str, Any], key: str, default: list[Any] | None = None) -> list[dict[str, Any]]:
    values = _field(fields, key, list, default)
    if not all(isinstance(value, dict) for value in values):
        raise CodeObjectError(f"the metadata of the code object is damaged: {key} is no list of maps")
    return values


def _count(fields: Mapping[str, Any], key: str, default: int | None = None, *, least: int = 0) -> int:
    """A number of the map that counts something; what damage makes of one is often less than nothing."""
    value = _field(fields, key, int, default)
    if value < least:
        raise CodeObjectError(f"the metadata of the code object is damaged: {key} is {value}")
    return value


def _field(fields: Mapping[str, Any], key: str, kind: type[T], default: T | None = None) -> T:
    """A value of the map; a default stands for what compilers leave out."""
    value = fields.get(key, default)
    if not isinstance(value, kind):
        found = "is missing" if key not in fields else f"is {value!r}"
        raise CodeObjectError(f"the metadata of the code object is damaged: {key} {found}, not {kind.__name__}")
    return value
