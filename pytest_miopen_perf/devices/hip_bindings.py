"""One face on hip-python 7 and 10: values in place of tuples, text in place of bytes, failures as typed errors.

What differs between the generations, and nothing else of the device, is in this file.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.errors import CompileError, DeviceError, DeviceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

_ADVICE = "pip install 'hip-python>=7.2'"
ABSENT = (RuntimeError, ValueError)
"""What the bindings raise by themselves: the library or a symbol of it is not there, or is newer than they are and
gives a status that they do not know."""


def load_bindings() -> HipBindings:
    """Import hip-python, which succeeds with no ROCm on the machine.

    Raises:
        DeviceUnavailableError: it is not installed.
    """
    try:
        from hip import hip, hiprtc
    except ImportError as error:
        raise DeviceUnavailableError(f"hip-python is not installed ({error}); {_ADVICE}") from error
    return HipBindings(hip, hiprtc)


class HipBindings:
    """The runtime and its compiler.

    Args:
        runtime: The module `hip.hip`.
        compiler: The module `hip.hiprtc`.
    """

    def __init__(self, runtime: Any, compiler: Any) -> None:
        self.runtime = runtime
        self._compiler = compiler

    def ask(self, function: str, *args: Any, failure: type[DeviceError] = DeviceError) -> Any:
        """Call the runtime.

        Returns:
            The value that stands behind the status; a tuple of them unless there is exactly one.

        Raises:
            DeviceError: of the type `failure`, in the runtime's own words.
        """
        return self.value(self.answer(function, *args, failure=failure), failure)

    def answer(self, function: str, *args: Any, failure: type[DeviceError] = DeviceError) -> tuple[Any, ...]:
        """Call the runtime; its status, and the values behind it, which mean nothing unless that is success.

        Raises:
            DeviceError: of the type `failure`, in the bindings' own words where they have no status.
        """
        try:
            answer: tuple[Any, ...] = getattr(self.runtime, function)(*args)
        except ABSENT as error:
            raise failure(str(error)) from error
        return answer

    def value(self, answer: tuple[Any, ...], failure: type[DeviceError] = DeviceError) -> Any:
        """The value of an answer; the values behind a status that is not success mean nothing and are not looked at.

        Raises:
            DeviceError: of the type `failure`, in the runtime's own words.
        """
        status, *values = answer
        if status != self.runtime.hipError_t.hipSuccess:
            raise failure(self.words(status))
        return values[0] if len(values) == 1 else tuple(values)

    def words(self, status: Any) -> str:
        """What the runtime calls a status: its sentence, and its name, which is all that old runtimes say."""
        sentence = text_of(self.runtime.hipGetErrorString(status)[-1])
        return f"{sentence} ({status.name})" if sentence != status.name else sentence

    def properties(self, ordinal: int) -> Any:
        """The structure of a device's properties.

        Raises:
            DeviceError: there is no such device, or the library is older than the structure.
        """
        try:
            return self.ask("hipGetDeviceProperties", ordinal)
        except TypeError:  # hip-python 7 is given the structure to fill
            properties = self.runtime.hipDeviceProp_t()
            self.ask("hipGetDeviceProperties", properties, ordinal)
            return properties

    def compiler_version(self) -> str:
        """For example "7.2".

        Raises:
            DeviceError: there is no compiler library.
        """
        return ".".join(str(number) for number in self._ask_compiler("hiprtcVersion"))

    def build(self, text: str, name: str, headers: dict[str, str], options: Sequence[str]) -> bytes:
        """Compile with hiprtc.

        Args:
            text: The translation unit.
            name: What the compiler's messages call it.
            headers: Texts that it may include, by name.
            options: Of the compiler.

        Returns:
            The code object.

        Raises:
            CompileError: `log` is the compiler's.
            DeviceError: the compiler did not take the text in.
        """
        names = [name.encode() for name in headers]
        texts = [header.encode() for header in headers.values()]
        program = self._ask_compiler("hiprtcCreateProgram", text.encode(), name.encode(), len(names), texts, names)
        try:
            words = [option.encode() for option in options]
            status, *_ = self._compiler_answer("hiprtcCompileProgram", program, len(words), words)
            if status != self._compiler.hiprtcResult.HIPRTC_SUCCESS:
                raise CompileError(f"{name} does not compile: {self._compiler_words(status)}", self._log(program))
            code = bytearray(self._ask_compiler("hiprtcGetCodeSize", program))
            self._ask_compiler("hiprtcGetCode", program, code)
            return bytes(code)
        finally:
            with suppress(*ABSENT):  # what ended before is what is told
                self._compiler.hiprtcDestroyProgram(program.createRef())

    def _log(self, program: Any) -> str:
        size = self._ask_compiler("hiprtcGetProgramLogSize", program)
        if not size:
            return ""
        log = bytearray(size)
        self._ask_compiler("hiprtcGetProgramLog", program, log)
        return bytes(log).rstrip(b"\0").decode(errors="replace")

    def _ask_compiler(self, function: str, *args: Any) -> Any:
        status, *values = self._compiler_answer(function, *args)
        if status != self._compiler.hiprtcResult.HIPRTC_SUCCESS:
            raise DeviceError(f"{function}: {self._compiler_words(status)}")
        return values[0] if len(values) == 1 else tuple(values)

    def _compiler_answer(self, function: str, *args: Any) -> tuple[Any, ...]:
        try:
            answer: tuple[Any, ...] = getattr(self._compiler, function)(*args)
        except ABSENT as error:
            raise DeviceError(f"{function}: {error}") from error
        return answer

    def _compiler_words(self, status: Any) -> str:
        words = self._compiler.hiprtcGetErrorString(status)[-1]  # hip-python 10 puts a status in front
        return text_of(words) or str(status.name)


def text_of(value: Any) -> str:
    """A C string, which is bytes in hip-python 7, and in 10 a str or an object that decodes itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return str(value.decode("utf-8", "replace"))
