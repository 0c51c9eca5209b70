"""All or nothing, also when the disk is full and when many write at once."""

import os
import threading

import pytest

from pytest_miopen_perf.atomic_file import write_atomically


def test_a_new_file_is_readable_by_all(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, "gr\u00fcn\n")
    assert path.read_bytes() == "gr\u00fcn\n".encode()
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_failed_write_leaves_the_old_text_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "file", "text")


def test_readers_never_see_a_mixture(tmp_path):
    path = tmp_path / "file"
    texts = [letter * 50_000 for letter in "abcd"]
    write_atomically(path, texts[0])
    writers = [
        threading.Thread(target=lambda text=text: [write_atomically(path, text) for _ in range(5)]) for text in texts
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_text() in texts
    for writer in writers:
        writer.join()
    assert list(tmp_path.iterdir()) == [path]
