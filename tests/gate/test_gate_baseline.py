"""What may become a baseline, how two become one, and how the file lives."""

import contextlib
import copy
import functools
import json
import operator
import os
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.cases import Case, by_process
from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate import baseline_file
from pytest_miopen_perf.gate.baseline import Baseline, Entry, Run, baseline_of
from pytest_miopen_perf.gate.baseline_file import baseline_text, load_baseline, parse_baseline, save_baseline
from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.store import check_writable
from pytest_miopen_perf.gate.what_changed import Execution
from pytest_miopen_perf.results import Sample

times = st.lists(st.floats(1e-7, 10).map(lambda t: float(f"{t:.6g}")), min_size=1, max_size=5).map(tuple)
devices = st.builds(
    Fingerprint,
    backend=st.sampled_from(["cpu", "hip"]),
    arch=st.just("gfx942"),
    name=st.text(max_size=5),
    compute_units=st.integers(1, 304),
    driver=st.text(max_size=3),
    runtime=st.just(""),
    compiler=st.just("cc"),
)
entries = st.builds(
    Entry,
    key=st.builds(
        CaseKey,
        problem=st.sampled_from(["conv -n 1 -F 1", "conv -n 2 -F 1"]),
        policy=st.sampled_from(["A", "B"]),
        cache_mode=st.just("warm"),
        data=st.just("miopen, seed 1"),
    ),
    device=devices,
    saved=st.sampled_from(["2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"]),
    seconds=st.lists(times, min_size=1, max_size=3).map(tuple),
    execution=st.builds(
        Execution, solver=st.text(), config=st.text(), kernel_seconds=st.just((("gemm", 0.5), ("a", 1e-7)))
    ),
    environment=st.sampled_from([(), (("MIOPEN_X", "1"),)]),
)
baselines = st.lists(entries, max_size=5, unique_by=lambda entry: entry.entry_key).map(Baseline.of)


# --- What becomes a baseline ------------------------------------------------------------------------------------------


def test_a_session_becomes_one_entry_a_case_and_kind_of_device(make_case, make_run):
    slow = make_case((2e-3, 2e-3), nodeid="renamed.py::test", channels=8)
    baseline = baseline_of(make_run([make_case(), slow], [make_case((1.1e-3,))], environment=(("HIP_X", "1"),)))
    four, eight = baseline.entries
    assert four.seconds == ((1e-3, 1.01e-3, 0.99e-3), (1.1e-3,))
    assert four.median_seconds == pytest.approx(1.05e-3)
    assert eight.seconds == ((2e-3, 2e-3),)
    assert eight.environment == (("HIP_X", "1"),)


def test_a_case_that_ran_twice_in_one_process_is_one_unit(make_case, make_run):
    (entry,) = baseline_of(make_run([make_case((1.0,)), make_case((3.0,))])).entries
    assert entry.seconds == ((1.0, 3.0),)


def test_warm_ups_stay_outside(make_case, make_run):
    case = make_case((1.0,))
    case = replace(case, result=replace(case.result, sample=Sample(seconds=(9.0, 1.0), warmups=1)))
    assert baseline_of(make_run([case])).entries[0].seconds == ((1.0,),)


def test_what_failed_or_stopped_early_becomes_none(make_case, make_run):
    bad = [
        (make_run([make_case()], interruption="Ctrl-C"), "interrupted: Ctrl-C"),
        (make_run([make_case(), make_case(outcome="failed", message="wrong")]), "failures"),
        (make_run([Case(nodeid="t", problem="p", outcome="error", message="no compiler")]), "with failures: p"),
        (make_run([make_case(None)]), "timed nothing"),
        (make_run([]), "timed nothing"),
    ]
    for run, words in bad:
        with pytest.raises(BaselineError, match=words):
            baseline_of(run)


def test_runs_of_a_driver_in_a_log_are_processes(make_case):
    cases = [replace(make_case((seconds,)), process=f"driver.log:{seconds}") for seconds in (1.0, 2.0, 3.0)]
    own = make_case((4.0,), channels=8)
    processes = by_process([cases[0], own, *cases[1:], own])
    assert [len(process) for process in processes] == [1, 2, 1, 1]
    (four, eight) = baseline_of(Run(processes=processes, ended="2026-03-01T12:00:00+00:00")).entries
    assert four.seconds == ((1.0,), (2.0,), (3.0,))
    assert eight.seconds == ((4.0, 4.0),)
    assert [Case.from_json(case.to_json()) for case in cases] == cases


# --- Where it can be written ------------------------------------------------------------------------------------------


def test_what_cannot_be_written_is_told_before_anything_is_measured(tmp_path, monkeypatch):
    check_writable(tmp_path / "new" / "deep" / "base.json")
    assert not (tmp_path / "new").exists()
    file = tmp_path / "file"
    file.write_text("")
    check_writable(file)
    for path, words in ((tmp_path, "is a folder"), (file / "base.json", f"since {file} is a file")):
        with pytest.raises(BaselineError, match=words):
            check_writable(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(BaselineError, match="give a path that you may write"):
        check_writable(tmp_path / "base.json")


# --- Two become one ---------------------------------------------------------------------------------------------------


def test_an_update_keeps_what_was_not_measured(make_case, make_run):
    old = baseline_of(make_run([make_case((1.0,)), make_case((5.0,), channels=8)]))
    new = baseline_of(make_run([make_case((2.0,))]))
    assert {entry.median_seconds for entry in old.updated(new).entries} == {2.0, 5.0}


def test_a_case_is_there_once(make_case, make_run):
    (entry,) = baseline_of(make_run([make_case()])).entries
    with pytest.raises(BaselineError, match="there twice"):
        Baseline.of([entry, entry])


# --- The file ---------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(baselines)
def test_a_baseline_survives_its_file(baseline):
    text = baseline_text(baseline)
    assert parse_baseline(text, "file") == baseline
    assert baseline_text(parse_baseline(text, "file")) == text


@settings(max_examples=40)
@given(st.lists(entries, min_size=1, max_size=5, unique_by=lambda entry: entry.entry_key), st.randoms())
def test_the_text_does_not_depend_on_the_order(found, chance):
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert baseline_text(Baseline.of(shuffled)) == baseline_text(Baseline.of(found))


def test_a_changed_case_changes_its_own_block_only(make_case, make_run):
    cases = [make_case((1.0, 1.1), channels=4 * i) for i in range(1, 6)]
    before = baseline_text(baseline_of(make_run(cases))).splitlines()
    changed = baseline_of(make_run([make_case((2.0, 2.1), channels=12)], ended="2026-05-01T00:00:00+00:00"))
    after = baseline_text(baseline_of(make_run(cases)).updated(changed)).splitlines()
    places = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert len(places) == 4
    assert places[-1] - places[0] < 8


def test_the_file_is_json_with_a_summary(make_case, make_run):
    data = json.loads(baseline_text(baseline_of(make_run([make_case()]))))
    (case,) = data["cases"]
    assert (data["format"], data["version"], data["unit"]) == ("pytest-miopen-perf baseline", 2, "seconds")
    assert case["summary"]["median_seconds"] == 1e-3
    assert (case["summary"]["processes"], case["summary"]["count"]) == (1, 3)
    assert case["device"] in data["devices"]
    assert "nodeid" not in baseline_text(baseline_of(make_run([make_case()])))


@pytest.fixture
def saved(tmp_path, make_case, make_run):
    path = tmp_path / "base.json"
    save_baseline(path, baseline_of(make_run([make_case()])))
    return path


def test_a_file_that_cannot_be_written_stays(saved, monkeypatch):
    before = saved.read_text()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BaselineError, match=r"No space left.*unchanged"):
        save_baseline(saved, Baseline())
    assert saved.read_text() == before
    assert [path.name for path in saved.parent.iterdir()] == ["base.json"]


def test_a_file_keeps_its_mode_and_a_link_its_target(saved, tmp_path):
    saved.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to(saved)
    save_baseline(link, Baseline())
    assert link.is_symlink()
    assert load_baseline(saved) == Baseline()
    assert saved.stat().st_mode & 0o777 == 0o600


def changed(text, **fields):
    return json.dumps(json.loads(text) | fields)


def changed_case(text, **fields):
    data = json.loads(text)
    data["cases"][0] |= fields
    return json.dumps(data)


def without(text, field):
    data = json.loads(text)
    del data["cases"][0][field]
    return json.dumps(data)


DAMAGE = {
    "newer": (lambda text: changed(text, version=3), "format version 3, and this program knows 2; update"),
    "no version": (lambda text: changed(text, version="one"), "its version is 'one'"),
    "cut off": (lambda text: text[: len(text) // 2], r"damaged: line \d+: .*; restore it"),
    "merge marks": (lambda text: "<<<<<<< ours\n" + text, "marks of a merge conflict; resolve it"),
    "other kind": (lambda text: changed(text, format="results"), "no baseline of pytest-miopen-perf"),
    "no object": (lambda text: "[]", "no baseline of pytest-miopen-perf"),
    "empty": (lambda text: "", "damaged: line 1"),
    "deep": (lambda text: "[" * 100_000, "nested too deeply"),
    "milliseconds": (lambda text: changed(text, unit="ms"), "is in 'ms', not in seconds; save a new one"),
    "no samples": (lambda text: changed_case(text, seconds=[]), "has no times; measure it again"),
    "an empty process": (lambda text: changed_case(text, seconds=[[1.0], []]), "has no times; measure it again"),
    "zero": (lambda text: changed_case(text, seconds=[[0.0]]), "the time 0.0, which is none"),
    "not a number": (lambda text: changed_case(text, seconds=[[float("nan")]]), "the time nan, which is none"),
    "words": (lambda text: changed_case(text, seconds=[["fast"]]), "damaged: seconds is 'fast', which is no number"),
    "a huge number": (lambda text: changed_case(text, seconds=[[10**400]]), "damaged: int too large"),
    "a huge phase": (lambda text: changed_case(text, phases={"compile": [10**400]}), "damaged: int too large"),
    "a flag": (lambda text: changed_case(text, seconds=[[True]]), "seconds is True, which is no number"),
    "a longer number": (lambda text: text.replace('"version": 2', '"version": ' + "1" * 5000), "a number is too long"),
    "a number as problem": (lambda text: changed_case(text, problem=1), "problem is 1, which is no text"),
    "no problem's line": (lambda text: changed_case(text, problem="x"), "no MIOpenDriver command"),
    "three directions": (lambda text: changed_case(text, problem="conv -n 1"), "of 3 directions, not of one"),
    "no policy": (lambda text: changed_case(text, policy=float("nan")), "policy is nan, which is no text"),
    "no data": (lambda text: changed_case(text, data=None), "data is None, which is no text"),
    "no device": (lambda text: changed_case(text, device="gone"), "names the device 'gone', which the file lacks"),
    "no date": (lambda text: changed_case(text, saved="yesterday"), "damaged: Invalid isoformat"),
    "no zone": (lambda text: changed_case(text, saved="2026-01-01T00:00:00"), "names no time zone"),
    "no problem": (lambda text: without(text, "problem"), "the field 'problem' is missing"),
    "devices are a list": (lambda text: changed(text, devices=[]), "damaged"),
    "no list of cases": (lambda text: changed(text, cases={}), "cases is {}, which is no list"),
    "twice": (lambda text: changed(text, cases=json.loads(text)["cases"] * 2), "there twice"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_is_no_use_says_why(saved, damage):
    break_it, words = DAMAGE[damage]
    saved.write_text(break_it(saved.read_text()))
    with pytest.raises(BaselineError, match=words) as caught:
        load_baseline(saved)
    assert str(saved) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_says_how_to_make_it(tmp_path):
    with pytest.raises(BaselineError, match="make it with --miopen-perf-save"):
        load_baseline(tmp_path / "none.json")
    with pytest.raises(BaselineError, match="cannot be read"):
        load_baseline(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(BaselineError, match="cannot be read"):
        load_baseline(tmp_path / "binary")


NASTY = (None, True, 0, -1, 1e308, 10**400, "", "x", [], {}, [[]], {"a": 1}, float("nan"), float("inf"), 1.5, ["x"])


def paths_of(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from paths_of(inner, (*path, name))


def with_value(document, path, value):
    changed = copy.deepcopy(document)
    functools.reduce(operator.getitem, path[:-1], changed)[path[-1]] = value
    return changed


def test_any_wrong_value_is_a_sentence_or_a_baseline_that_can_be_saved(saved):
    document = json.loads(saved.read_text())
    for path in filter(None, paths_of(document)):
        for value in NASTY:
            with contextlib.suppress(BaselineError):
                baseline = parse_baseline(json.dumps(with_value(document, path, value)), "file")
                assert parse_baseline(baseline_text(baseline), "again") == baseline
                assert all(entry.key.name and hash(entry.entry_key) for entry in baseline.entries)


@pytest.mark.parametrize("field", ["problem", "policy", "cache_mode", "data", "device", "saved", "execution", "phases"])
@pytest.mark.parametrize("value", [1, None, True, ["x"]])
def test_a_field_of_another_type_never_makes_a_new_case(saved, field, value):
    saved.write_text(changed_case(saved.read_text(), **{field: value}))
    with pytest.raises(BaselineError, match="is damaged"):
        load_baseline(saved)


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_document_is_a_baseline_or_a_sentence(document):
    head = {"format": baseline_file.KIND.format, "version": 1, "unit": "seconds", "devices": {}}
    for data in (document, {**head, "cases": document}, {**head, "cases": [document]}):
        with contextlib.suppress(BaselineError):
            parse_baseline(json.dumps(data), "file")
