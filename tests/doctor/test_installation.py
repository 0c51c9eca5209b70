"""What the doctor says of an installation, whole and broken, and what it never says."""

import os
from importlib import metadata

import pytest

from pytest_miopen_perf.doctor.findings import Finding
from pytest_miopen_perf.doctor.installation import examine, is_writable
from pytest_miopen_perf.doctor.redaction import Redaction
from pytest_miopen_perf.kernel_source import files as kernel_files
from pytest_miopen_perf.severity import Severity


def finding_of(code):
    return next(finding for finding in examine() if finding.code == code)


def test_a_whole_installation_has_nothing_but_information():
    by_code = {finding.code: finding for finding in examine()}
    assert {"back-end", "kernels", "cache", "compiler"} <= set(by_code)
    assert by_code["kernels"].severity is Severity.INFO
    assert not [finding for finding in examine() if finding.severity is Severity.ERROR]


def test_an_installation_without_kernels_is_broken(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_files, "_PACKAGE", tmp_path / "package")
    finding = finding_of("kernels")
    assert finding.severity is Severity.ERROR
    assert finding.advice


def test_a_machine_without_a_compiler_is_told_and_what_to_install(monkeypatch):
    monkeypatch.setenv("MIOPEN_PERF_CXX", "no-such-compiler")
    finding = finding_of("compiler")
    assert finding.severity is Severity.WARNING
    assert "no-such-compiler" in finding.sentence
    cpu = next(finding for finding in examine() if finding.code == "back-end" and finding.variable == "cpu")
    assert cpu.severity is Severity.WARNING


def test_a_cache_that_cannot_be_written_is_told(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    finding = finding_of("cache")
    assert finding.severity is Severity.WARNING
    assert "--miopen-perf-cache" in finding.advice


def test_a_missing_and_an_old_package_are_errors(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: ["no-such-package>=2", "pytest>=9999", "x; extra == 'cpu'"])
    found = {finding.variable: finding for finding in examine() if finding.code == "package"}
    assert set(found) == {"no-such-package", "pytest"}
    assert "not installed" in found["no-such-package"].sentence
    assert "too old" in found["pytest"].sentence
    assert all(finding.severity is Severity.ERROR for finding in found.values())


@pytest.mark.parametrize("parts", [(), ("a",), ("a", "b", "c")])
def test_a_folder_is_writable_where_it_can_be_made(tmp_path, parts):
    assert is_writable(tmp_path.joinpath(*parts))


def test_nothing_can_be_written_below_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert not is_writable(tmp_path / "file" / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_not_writable(tmp_path):
    tmp_path.chmod(0o500)
    assert not is_writable(tmp_path / "below")


# --- Redaction --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/alice/db", "~/db"),
        ("/home/bob/db:/home/alice", "~/db:~"),
        ("/root/db", "~/db"),
        ("/rooting/db", "/rooting/db"),
        ("on node7.cluster", "on HOST.cluster"),
        ("node70", "node70"),
        ("gfx942", "gfx942"),
    ],
)
def test_people_and_machines_are_not_named(text, shown):
    assert Redaction(home="/root", host="node7").text(text) == shown


def test_without_a_home_and_a_host_nothing_else_is_replaced():
    assert Redaction(home="", host="").text("/opt/x a") == "/opt/x a"
    assert Redaction(home="/", host="").text("/opt/x") == "/opt/x"


def test_every_text_of_a_finding_is_redacted():
    finding = Finding(
        code="set", variable="MIOPEN_USER_DB_PATH", value="/home/al/x", effective="/home/al/x", sentence="at /home/al/x"
    )
    shown = Redaction(home="/home/al", host="").finding(finding)
    assert (shown.value, shown.effective, shown.sentence) == ("~/x", "~/x", "at ~/x")


def test_this_process_has_a_home_or_none(monkeypatch):
    assert Redaction.of_this_process().home.startswith("/")
    monkeypatch.setattr("pathlib.Path.home", lambda: (_ for _ in ()).throw(RuntimeError))
    assert Redaction.of_this_process().home == ""
