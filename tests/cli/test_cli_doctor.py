"""`miopen-perf doctor`."""

import json
import platform

import pytest


def test_nothing_set_is_fine(run):
    outcome = run("doctor")
    assert outcome.status == 0
    assert outcome.out.startswith("no variable is set")
    assert "installation: " in outcome.out
    assert "pytest-miopen-perf" in outcome.out.splitlines()[-1] + outcome.out.splitlines()[-2] + outcome.out


def test_what_is_set_is_explained(run, monkeypatch):
    monkeypatch.setenv("MIOPEN_USER_DB_PATH", "/tmp/db")
    outcome = run("doctor")
    assert outcome.status == 0
    assert "info    MIOPEN_USER_DB_PATH=/tmp/db" in outcome.out


@pytest.mark.parametrize(
    ("setting", "word"), [("MIOPEN_PERFORMANCE_LOGS=on", "warning"), ("MIOPEN_FIND_MODE=nonsense", "error")]
)
def test_warnings_and_errors_are_findings(run, setting, word):
    outcome = run("doctor", setting)
    assert outcome.status == 1
    assert outcome.out.startswith(f"variables: 1 {word}")


def test_settings_on_the_command_line_stand_alone(run, monkeypatch):
    monkeypatch.setenv("MIOPEN_FIND_MODE", "nonsense")
    outcome = run("doctor", "MIOPEN_LOG_LEVEL=4")
    assert outcome.status == 0
    assert "MIOPEN_FIND_MODE" not in outcome.out
    assert "installation" not in outcome.out


def test_a_name_alone_takes_the_value_that_is_set(run, monkeypatch):
    monkeypatch.setenv("MIOPEN_FIND_MODE", "fast")
    assert "2: FAST" in run("doctor", "MIOPEN_FIND_MODE").out


def test_json_has_everything(run):
    data = json.loads(run("doctor", "--json").out)
    assert set(data) == {"versions", "variables", "installation"}
    assert data["versions"]["python"] == platform.python_version()
    assert {finding["code"] for finding in data["installation"]} >= {"back-end", "kernels", "cache", "compiler"}


@pytest.mark.parametrize(
    ("setting", "words"), [("PATH=/bin", "no variable that is looked at"), ("MIOPEN_LOG_LEVEL", "is not set")]
)
def test_what_cannot_be_explained_is_refused(run, setting, words):
    outcome = run("doctor", setting)
    assert outcome.status == 2
    assert words in outcome.err


def test_neither_people_nor_machines_are_named(run, monkeypatch):
    monkeypatch.setattr("platform.node", lambda: "secret-host")
    monkeypatch.setenv("HOME", "/home/secret-person")
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/secret-person/.cache")
    monkeypatch.setenv("MIOPEN_USER_DB_PATH", "/home/secret-person/db")
    monkeypatch.setenv("MIOPEN_CUSTOM_CACHE_DIR", "/net/secret-host/home/other-person/x")
    for words in (["doctor"], ["doctor", "--json"]):
        outcome = run(*words)
        assert "secret" not in outcome.out
        assert "other-person" not in outcome.out
