"""What a test holds in its hand to ask what a kernel of the user's own takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.cases import own_case
from pytest_miopen_perf.errors import CompileError, DeviceUnavailableError, SettingsError
from pytest_miopen_perf.home_folder import without_tilde
from pytest_miopen_perf.kernel_source.files import kernel_path
from pytest_miopen_perf.launch import KernelSource, Launch
from pytest_miopen_perf.session.harness import skip_unavailable
from pytest_miopen_perf.static_gate.plugin import static_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pytest

    from pytest_miopen_perf.codeobject.cases import StaticCase
    from pytest_miopen_perf.codeobject.judgement import StaticJudgement
    from pytest_miopen_perf.launch import Dim3
    from pytest_miopen_perf.static_gate.session import StaticSession


class CodeObjects:
    """What the fixture `miopen_perf_code_object` gives: call it with a kernel, get what it takes on each target."""

    def __init__(self, session: StaticSession, node: pytest.Item) -> None:
        self._session = session
        self._node = node

    @staticmethod
    def for_test(config: pytest.Config, node: pytest.Item) -> CodeObjects:
        """The fixture of a test."""
        return CodeObjects(static_of(config).session, node)

    def __call__(
        self,
        kernel: str | os.PathLike[str] | KernelSource | Launch,
        entry: str = "",
        *,
        defines: Mapping[str, object] | None = None,
        block: int | Dim3 | None = None,
        shared_bytes: int = 0,
        name: str = "",
    ) -> dict[str, StaticJudgement]:
        """Compile a kernel for every target of the session, and judge what it takes.

        The test fails at its end when a judgement is red; until then it may look at the figures itself.

        Args:
            kernel: A file of HIP text, relative to the test's folder; or a kernel; or a whole launch of one, whose
                arguments are then held against those that the kernel reads.
            entry: The name of the kernel in a file.
            defines: Macros of a file.
            block: Work-items of a work-group; None is what the kernel was compiled for.
            shared_bytes: Dynamic shared memory of a work-group.
            name: What the baseline calls it; "" is file, entry, macros and work-group.

        Returns:
            Target to judgement, for the targets that the compiler can build for.

        Raises:
            SettingsError: no such file, or one without the name of its kernel.
            CompileError: it does not compile or cannot be read, with the compiler's words: there are no figures.
        """
        __tracebackhide__ = True
        try:
            case = self._case(kernel, entry, defines or {}, block, shared_bytes, name)
        except SettingsError as error:
            # It is the call that is wrong: the way through the fixture would only hide the test's own line.
            raise error.with_traceback(None) from None
        with skip_unavailable():
            judgements = self._session.judge([replace(case, target=target) for target in self._targets()])
        for judgement in judgements:
            self._session.keep(self._node.nodeid, judgement)
            if judgement.now is None:
                raise CompileError("; ".join(judgement.reasons))
        return {judgement.key.target: judgement for judgement in judgements}

    def _case(
        self,
        kernel: str | os.PathLike[str] | KernelSource | Launch,
        entry: str,
        defines: Mapping[str, object],
        block: int | Dim3 | None,
        shared_bytes: int,
        name: str,
    ) -> StaticCase:
        if isinstance(kernel, Launch):
            source = self._beside(kernel.kernel)
            return own_case(source, kernel.block, kernel.shared_bytes, args=kernel.args, name=name)
        if not isinstance(kernel, KernelSource):
            if not entry:
                raise SettingsError(f"{kernel} is a file of kernels; name the one that is meant by its entry")
            macros = tuple((macro, str(value)) for macro, value in defines.items())
            kernel = KernelSource(file=str(kernel), entry=entry, defines=macros)
        return own_case(self._beside(kernel), block, shared_bytes, name=name)

    def _beside(self, kernel: KernelSource) -> KernelSource:
        """The kernel of the test's own folder, where it lies there; else the one that ships.

        Raises:
            SettingsError: it lies in neither place.
        """
        path = self._node.path.parent / without_tilde(kernel.file)
        if path.is_file():
            return replace(kernel, file=str(path))
        if kernel_path(kernel.file).is_file():
            return kernel
        raise SettingsError(f"{path} is no file; name a file of HIP text relative to the folder of the test")

    def _targets(self) -> list[str]:
        """Those of the session that the compiler can build for.

        Raises:
            DeviceUnavailableError: there is no compiler, or it knows none of them.
        """
        gate = self._session.gate()
        refusals = {target: gate.refusal(target) for target in self._session.targets}
        targets = [target for target, reason in refusals.items() if not reason]
        if not targets:
            raise DeviceUnavailableError("; ".join(refusals.values()))
        return targets
