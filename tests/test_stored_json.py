"""Baselines on disk: names, heads, and what is said of a file that is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.errors import BaselineError, SettingsError
from pytest_miopen_perf.stored_json import FileKind, damaged, decoded, joined, named_path, read_text, write_text

KIND = FileKind(noun="list", format="a list", version=2, how_to_make="--save")
HEAD = {"format": "a list", "version": 2}


@pytest.mark.parametrize("name", ["main", "v1.2+x@y", "_"])
def test_a_word_is_a_name_in_the_folder(tmp_path, name):
    assert named_path(name, tmp_path, ".x.json") == tmp_path / f"{name}.x.json"


def test_all_else_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/of")
    words = ("a/b", "b.json", "~/b.json", "/b.json")
    paths = [str(named_path(text, tmp_path / "unused", ".json")) for text in words]
    assert paths == [f"{tmp_path}/a/b", f"{tmp_path}/b.json", "/home/of/b.json", "/b.json"]


@pytest.mark.parametrize("name", ["", "a b", "-x", ".hidden", "a\n"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    with pytest.raises(SettingsError, match="give a word such as main"):
        named_path(name, tmp_path, ".json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "the list f is damaged: line 1: .*; restore it, or make a new one with --save"),
        ("[" * 100_000, "the list f is damaged: it is nested too deeply; restore it"),
        ("9" * 5000, "the list f is damaged: a number is too long; restore it"),
        ("{}\n<<<<<<< ours\n", "the marks of a merge conflict; resolve it"),
        ("[]", "f is JSON, but no list of pytest-miopen-perf; give another file"),
        ('{"format": "a map", "version": 2}', "f is JSON, but no list"),
        ('{"format": "a list"}', "the list f is damaged: its version is None"),
        ('{"format": "a list", "version": true}', "the list f is damaged: its version is True"),
        ('{"format": "a list", "version": 0}', "the list f is damaged: its version is 0"),
        ('{"format": "a list", "version": 3}', "has format version 3, and this program knows 2; update .* with --save"),
    ],
)
def test_a_text_that_is_none_says_what_it_is(text, words):
    with pytest.raises(BaselineError, match=words):
        decoded(text, "f", KIND)


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_text_is_a_traceback(text):
    with pytest.raises(BaselineError):
        decoded(text, "f", KIND)


@pytest.mark.parametrize("version", [1, 2])
def test_a_known_version_is_read(version):
    assert decoded(json.dumps(HEAD | {"version": version, "x": 1}), "f", KIND)["x"] == 1


def test_the_head_is_what_is_read():
    assert decoded("\n".join(["{", *KIND.head_lines, ' "x": 1}']), "f", KIND) == HEAD | {"x": 1}


def test_a_missing_field_is_named():
    assert "the field 'x' is missing; restore it" in str(damaged(KeyError("x"), "f", KIND))
    assert "is damaged: x is no list; " in str(damaged(TypeError("x is no list"), "f", KIND))


def test_what_is_written_is_read_and_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b.json"
    write_text(path, "é\n", KIND)
    assert read_text(path, KIND) == "é\n"


def test_files_that_cannot_be_read_or_written_are_named(tmp_path):
    path = tmp_path / "b.json"
    with pytest.raises(BaselineError, match=r"there is no list .*b\.json; make it with --save"):
        read_text(path, KIND)
    path.write_bytes(b"\xff")
    with pytest.raises(BaselineError, match=r"the list .*b\.json cannot be read: "):
        read_text(path, KIND)
    with pytest.raises(BaselineError, match=r"the list .*c\.json cannot be written: .*; what was there is unchanged"):
        write_text(path / "c.json", "", KIND)


@pytest.mark.parametrize("count", range(4))
def test_commas_stand_between_the_items(count):
    items = [str(number) for number in range(count)]
    assert json.loads(f"[{''.join(joined(items))}]") == list(range(count))
