"""What an arm says, and which kernels it means."""

import re
import subprocess
import sys

import pytest

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate.arms import kernel_folder, parse_arm


@pytest.fixture
def repository(tmp_path):
    """A repository whose `lib/kernels` has one committed kernel, changed since; and a git command in it."""

    def git(*words):
        command = ("git", "-c", "user.name=n", "-c", "user.email=e@x", "-C", str(tmp_path / "r"), *words)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    kernels = tmp_path / "r/lib/kernels"
    (kernels / "include").mkdir(parents=True)
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "empty")
    (kernels / "k.hip").write_text("old")
    (kernels / "include/h.h").write_text("header")
    git("add", ".")
    git("commit", "-qm", "kernels")
    return kernels, git


def test_words_of_every_kind():
    arm = parse_arm(f"A=1 B='x y' python={sys.executable} kernels=HEAD~1 --miopen-perf-device=s#{{process}}")
    assert arm.environment == (("A", "1"), ("B", "x y"))
    assert arm.kernels == "HEAD~1"
    assert arm.command(["tests", "-k{process}"], 3)[1:] == [
        *("-m", "pytest", "tests", "-k3", "--miopen-perf-device=s#3", "--miopen-perf-kernels=HEAD~1")
    ]
    assert parse_arm("HIP_VISIBLE_DEVICES={process}").variables(2) == {"HIP_VISIBLE_DEVICES": "2"}


@pytest.mark.parametrize("text", ["word", "1A=2", "=x", "'", "python=/no/python"])
def test_other_words_are_told(text):
    with pytest.raises(SettingsError, match=re.escape(text)):
        parse_arm(text)


def test_a_revision_is_taken_from_git_with_its_headers(repository, tmp_path):
    kernels, git = repository
    (kernels / "k.hip").write_text("new")
    found = kernel_folder("HEAD", shipped=kernels, scratch=tmp_path / "scratch")
    assert (found.folder / "k.hip").read_text() == "old"
    assert (found.folder / "include/h.h").read_text() == "header"
    assert found.sentence == f"HEAD ({git('rev-parse', 'HEAD')[:12]})"


def test_a_folder_is_itself_and_changes_are_told(repository, tmp_path):
    kernels, _ = repository
    clean = kernel_folder(str(kernels), shipped=kernels, scratch=tmp_path)
    assert (clean.folder, clean.sentence) == (kernels, str(kernels))
    (kernels / "k.hip").write_text("new")
    dirty = kernel_folder(str(kernels.parent), shipped=kernels, scratch=tmp_path)
    assert dirty.folder == kernels
    assert dirty.sentence == f"{kernels.parent} with changes that are not committed"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nowhere", "neither a folder of kernels nor a git revision"),
        ("HEAD~1", "has no"),
        ("--output=x", "neither a folder of kernels nor a git revision"),
        (".", "holds no .hip file"),
    ],
)
def test_what_is_no_arm_is_told(repository, tmp_path, monkeypatch, text, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=sentence):
        kernel_folder(text, shipped=repository[0], scratch=tmp_path / "scratch")


def test_without_a_repository_a_revision_means_nothing(tmp_path):
    with pytest.raises(SettingsError, match=r"git knows no revisions of .*: fatal: not a git.*; give a folder"):
        kernel_folder("main", shipped=tmp_path, scratch=tmp_path / "scratch")


def test_without_git_a_revision_means_nothing_and_a_folder_is_itself(repository, tmp_path, monkeypatch):
    kernels, _ = repository
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match=r"it cannot be run: .*'git'; give a folder"):
        kernel_folder("main", shipped=kernels, scratch=tmp_path / "scratch")
    assert kernel_folder(str(kernels), shipped=kernels, scratch=tmp_path).folder == kernels
