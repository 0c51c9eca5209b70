"""Compiled kernels on disk, shared by every process of a user.

An entry is the binary followed by its SHA-256, so that a half-written or damaged file is never loaded. Writing is one
rename: two processes that compile the same key both win.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import warnings
from pathlib import Path

from pytest_miopen_perf.errors import PerfWarning

_DIGEST_BYTES = 32


def default_cache_dir(use: str) -> Path:
    """Where binaries of one use, for example "cpu", are kept unless the user names a folder."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("pytest-miopen-perf")) / use


class CompileCache:
    """A folder of binaries by key. Any thread may call any method.

    A folder that cannot be written still serves what it holds; new binaries go to a private folder that lives as long
    as the cache object, and one warning says so.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._private: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """The binary; None when there is none, or when it is damaged."""
        for folder in self._folders():
            try:
                data = (folder / key).read_bytes()
            except OSError:
                continue
            binary, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
            if hashlib.sha256(binary).digest() == digest:
                return binary
        return None

    def put(self, key: str, binary: bytes) -> None:
        """Keep a binary."""
        data = binary + hashlib.sha256(binary).digest()
        with self._lock:
            if self._private is None:
                try:
                    _write(self._folder, key, data)
                except OSError as error:
                    self._private = self._fall_back(error)
            if self._private is not None:
                _write(Path(self._private.name), key, data)

    def close(self) -> None:
        """Remove the private folder, if there is one."""
        with self._lock:
            if self._private is not None:
                self._private.cleanup()
                self._private = None

    def _folders(self) -> list[Path]:
        private = self._private
        return [self._folder, *([Path(private.name)] if private else [])]

    def _fall_back(self, error: OSError) -> tempfile.TemporaryDirectory[str]:
        private = tempfile.TemporaryDirectory(prefix="miopen-perf-cache-")
        warnings.warn(
            f"the compile cache {self._folder} cannot be written ({error.strerror}); kernels are compiled anew in "
            "every session until it can, or another folder is chosen",
            PerfWarning,
            stacklevel=4,
        )
        return private


def _write(folder: Path, key: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{key[:16]}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(folder / key)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
