"""The typed errors of this project.

Every message is one sentence that says what is wrong, where, and what to do; words of a driver or a compiler are
kept in an attribute, never paraphrased.
"""

from __future__ import annotations


class PerfError(Exception):
    """The root of all errors that this project raises on purpose."""


class ProblemError(PerfError, ValueError):
    """A convolution problem contradicts itself.

    Attributes:
        field: The name of the wrong field of `ConvProblem`.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class DriverLineError(PerfError, ValueError):
    """A text is not a MIOpenDriver convolution command, or asks for something that MIOpenDriver rejects."""


class NotConvolutionError(DriverLineError):
    """A MIOpenDriver command is sound, but of another operation: bnorm, pool, gemm and so on."""


class DatabaseKeyError(PerfError, ValueError):
    """A text is not a find-db or perf-db key."""


class DatabaseError(PerfError):
    """A data base cannot be read or written, or cannot hold what it is given."""


class WorkloadError(PerfError):
    """A workload file cannot be read, or holds no convolution command."""


class InputError(PerfError):
    """What a command is to read cannot be read, or is not what the command takes."""


class InvalidRecordError(PerfError):
    """A log line does not satisfy the published JSON Schema; it has not been written."""


class LogOrderError(PerfError, RuntimeError):
    """The performance logger is given figures that belong to nothing: no solution is named, or no config is open."""


class LogWriteError(PerfError):
    """The sink refused a line of the log; the line is lost, what comes after it is not."""


class SettingsError(PerfError, ValueError):
    """An option, ini value, environment variable or marker argument is wrong."""


class NotApplicableError(PerfError):
    """The solver, the problem and the device do not fit; the message is the reason. Becomes a skip."""


class ConfigError(PerfError, ValueError):
    """The text of a performance config does not parse; the message names the field."""


class DeviceError(PerfError):
    """The root of what a device can refuse or break."""


class DeviceUnavailableError(DeviceError):
    """No such back-end, device or compiler on this machine; the message is the reason. Becomes a skip."""


class CompileError(DeviceError):
    """A kernel does not compile.

    Attributes:
        log: The compiler's own words.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(f"{message}\n{log}" if log else message)
        self.log = log


class CodeObjectError(DeviceError):
    """A code object cannot be read: it is damaged, of no AMD GPU, or lacks the kernel that was asked for."""


class LaunchError(DeviceError):
    """A kernel did not start, or did not come to its end; the message names the kernel."""


class DriverRunError(DeviceError):
    """MIOpenDriver did not start, died, ran out of time, or gave no figures of what it was asked for."""


class OutOfMemoryError(DeviceError):
    """An allocation was refused; the message names the bytes asked for."""


class WrongResultError(PerfError, AssertionError):
    """A solver's numbers are wrong, or there are none where it says that it applies.

    The message names the worst element, or the compiler's or runtime's words, and how to reproduce it.
    """


class LogFindingError(PerfError, AssertionError):
    """A log of MIOpenDriver is wrong: it contradicts itself, tells of a failure, or cannot be read at that line."""


class VerdictError(PerfError, AssertionError):
    """The gate's verdict on the time of a case fails its test; the message says why and how to reproduce it."""


class BaselineError(PerfError):
    """A baseline cannot be read, or a session may not become one."""


class ArmError(PerfError):
    """A process of a paired comparison did not start, or left no results; the message has its last words."""


class VerdictFileError(PerfError):
    """A document is not a verdict file of a known version."""


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C, or SIGTERM taken as such, in a search; the message tells how far it had come."""


class PerfWarning(UserWarning):
    """Something works less well than it could; the sentence says what and how to mend it."""
