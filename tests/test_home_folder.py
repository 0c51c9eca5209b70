"""What ~ means, and where it means nothing."""

from pathlib import Path

import pytest

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.home_folder import without_tilde


def test_it_is_the_home_folder_in_front_only(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert without_tilde("~/kernels") == Path("/somewhere/kernels")
    assert without_tilde("a/~/b") == Path("a/~/b")
    assert without_tilde("main") == Path("main")


@pytest.mark.parametrize("text", ["~no such user/kernels", "~no such user"])
def test_nobodys_home_folder_is_refused(text):
    with pytest.raises(SettingsError, match=f"^{text} begins with a home folder that does not exist; write"):
        without_tilde(text)
