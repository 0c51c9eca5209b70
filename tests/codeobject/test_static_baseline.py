"""What counts as worse, what as better, and a file that says the same when it is read again."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.codeobject.baseline import (
    StaticFigures,
    StaticKey,
    StaticLimits,
    StaticVerdict,
    baseline_of,
    compare,
    compare_figures,
    key_of,
)
from pytest_miopen_perf.codeobject.baseline_file import load_baseline, save_baseline
from pytest_miopen_perf.errors import CompileError, SettingsError

STRICT = StaticLimits(lds_bytes=0)
FIELDS = tuple(StaticFigures.__dataclass_fields__)
GROWING = ("vgpr_spills", "sgpr_spills", "scratch_bytes", "lds_bytes")
"""Figures of which more is worse; of waves, fewer are."""
INDIFFERENT = ("vgprs", "agprs", "sgprs", "kernarg_bytes", "code_bytes")

counts = st.integers(0, 2**31)
figures = st.builds(StaticFigures, **dict.fromkeys(FIELDS, counts))
limits = st.builds(
    StaticLimits, **dict.fromkeys(("spills", "scratch_bytes", "waves", "lds_bytes"), st.integers(0, 500))
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="="), max_size=12)
keys = st.builds(
    StaticKey,
    compiler=texts,
    target=texts,
    file=texts,
    entry=texts,
    defines=st.lists(st.tuples(names, texts), max_size=3).map(tuple),
    options=st.lists(texts, max_size=2).map(tuple),
    work_items=st.integers(1, 1024),
    shared_bytes=counts,
)


@given(same=figures, bounds=limits)
def test_no_change_passes_without_a_word(same, bounds):
    assert compare_figures(same, same, bounds) == (StaticVerdict.PASS, [])


@given(before=figures, bounds=limits, name=st.sampled_from(GROWING), beyond=st.integers(1, 1000))
def test_growth_past_its_limit_is_a_regression(before, bounds, name, beyond):
    limit = bounds.spills if name.endswith("spills") else getattr(bounds, name)
    now = replace(before, **{name: getattr(before, name) + limit + beyond})
    verdict, reasons = compare_figures(before, now, bounds)
    assert verdict is StaticVerdict.REGRESSION
    assert len(reasons) == 1


@given(before=figures, bounds=limits, name=st.sampled_from(GROWING), data=st.data())
def test_growth_within_its_limit_passes(before, bounds, name, data):
    limit = bounds.spills if name.endswith("spills") else getattr(bounds, name)
    now = replace(before, **{name: getattr(before, name) + data.draw(st.integers(0, limit))})
    assert compare_figures(before, now, bounds)[0] is StaticVerdict.PASS


@given(before=figures, bounds=limits, lost=st.integers(1, 1000))
def test_waves_may_be_lost_up_to_the_limit(before, bounds, lost):
    before = replace(before, waves=before.waves + lost)
    verdict, _ = compare_figures(before, replace(before, waves=before.waves - lost), bounds)
    assert verdict is (StaticVerdict.REGRESSION if lost > bounds.waves else StaticVerdict.PASS)


@given(before=figures, name=st.sampled_from(INDIFFERENT), count=counts)
def test_registers_and_code_alone_decide_nothing(before, name, count):
    assert compare_figures(before, replace(before, **{name: count}), STRICT)[0] is StaticVerdict.PASS


@given(before=figures, now=figures)
def test_an_improvement_is_a_regression_the_other_way_round(before, now):
    forth, back = compare_figures(before, now, STRICT)[0], compare_figures(now, before, STRICT)[0]
    if forth is StaticVerdict.IMPROVED:
        assert back is StaticVerdict.REGRESSION
    if forth is StaticVerdict.PASS:
        assert back is StaticVerdict.PASS


@given(before=figures, now=figures, bounds=limits)
def test_wider_limits_never_make_a_regression(before, now, bounds):
    if compare_figures(before, now, STRICT)[0] is not StaticVerdict.REGRESSION:
        assert compare_figures(before, now, bounds)[0] is not StaticVerdict.REGRESSION


@given(before=figures, better=st.integers(1, 9), worse=st.integers(1, 9))
def test_spills_are_not_paid_for_with_waves(before, better, worse):
    now = replace(before, waves=before.waves + better, vgpr_spills=before.vgpr_spills + worse)
    assert compare_figures(before, now, STRICT)[0] is StaticVerdict.REGRESSION


def test_the_sentence_shows_both_figures(make_row):
    before, now = make_row(), make_row(waves=20, vgpr_spills=7, scratch_bytes=28)
    (judgement,) = compare([now], baseline_of([before]))
    assert judgement.verdict is StaticVerdict.REGRESSION
    assert judgement.reasons == (
        "spilled registers: 0, now 7",
        "bytes of scratch: 0, now 28",
        "waves on 4 SIMDs: 32, now 20",
    )
    assert judgement.faults == (
        "it spills 7 vector registers",
        "it keeps 28 bytes of each work-item in scratch",
    )


def test_another_compiler_is_no_baseline_and_both_are_named(make_row):
    (judgement,) = compare([make_row(compiler="zig clang 23")], baseline_of([make_row(compiler="zig clang 22")]))
    assert judgement.verdict is StaticVerdict.NO_BASELINE
    assert judgement.reasons == ("the baseline is of zig clang 22; this compiler is zig clang 23",)


@pytest.mark.parametrize("change", [{"target": "gfx90a"}, {"compiler": "zig clang 23", "target": "gfx90a"}])
def test_what_the_baseline_lacks_is_said(make_row, change):
    (judgement,) = compare([make_row(**change)], baseline_of([make_row()]))
    assert judgement.verdict is StaticVerdict.NO_BASELINE
    assert judgement.reasons == ("the baseline does not hold this kernel with these macros for this target",)


def test_a_kernel_that_no_longer_compiles_is_a_regression(make_row):
    broken = make_row(outcome=CompileError("scale does not compile", "error: no"))
    (judgement,) = compare([broken], baseline_of([make_row()]))
    assert judgement.verdict is StaticVerdict.REGRESSION
    assert judgement.reasons == ("it compiled before, and does not now",)
    assert "error: no" in judgement.faults[0]
    assert baseline_of([broken]) == {}


def test_what_is_keyed_is_what_is_compiled_and_launched(make_row):
    row = make_row()
    same = replace(row, case=replace(row.case, solver="Other", config="1", problem="another"))
    assert key_of(same) == key_of(row)
    wider = replace(row, case=replace(row.case, launch=replace(row.case.launch, block=(64, 2, 1))))
    more = replace(row, case=replace(row.case, launch=replace(row.case.launch, shared_bytes=16)))
    assert len({key_of(row), key_of(wider), key_of(more)}) == 3


@settings(max_examples=40)
@given(baseline=st.dictionaries(keys, figures, max_size=4))
def test_a_baseline_comes_back_from_its_file(tmp_path_factory, baseline):
    path = tmp_path_factory.mktemp("baseline") / "b.json"
    save_baseline(path, baseline)
    assert load_baseline(path) == baseline


@settings(max_examples=40)
@given(
    entries=st.dictionaries(keys, figures, min_size=2, max_size=6).map(lambda each: list(each.items())), data=st.data()
)
def test_the_file_does_not_depend_on_the_order(tmp_path_factory, entries, data):
    folder = tmp_path_factory.mktemp("baseline")
    save_baseline(folder / "a.json", dict(entries))
    save_baseline(folder / "b.json", dict(data.draw(st.permutations(entries))))
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


def test_a_change_of_one_figure_is_a_change_of_one_line(make_row, tmp_path):
    rows = [make_row(target=target) for target in ("gfx90a", "gfx942", "gfx1100")]
    save_baseline(tmp_path / "a.json", baseline_of(rows))
    save_baseline(tmp_path / "b.json", baseline_of([*rows[:2], make_row(target="gfx1100", vgprs=33)]))
    before, after = ((tmp_path / name).read_text().splitlines() for name in ("a.json", "b.json"))
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_a_failed_write_leaves_the_old_file_and_nothing_else(make_row, tmp_path, monkeypatch):
    path = tmp_path / "b.json"
    save_baseline(path, baseline_of([make_row()]))
    old = path.read_bytes()

    def refuse(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space left"):
        save_baseline(path, {})
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def document(make_row, tmp_path):
    path = tmp_path / "b.json"
    save_baseline(path, baseline_of([make_row()]))
    return path, json.loads(path.read_text())


def kernel_block(data):
    return data["compilers"]["zig clang 22"][0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("compilers"),
        lambda data: data["compilers"].update({"zig": 3}),
        lambda data: kernel_block(data).pop("defines"),
        lambda data: kernel_block(data).update(work_items="256"),
        lambda data: kernel_block(data).update(file=None),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(waves=-1),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(waves=True),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(joy=1),
        lambda data: kernel_block(data)["targets"]["gfx942"].pop("vgprs"),
        lambda data: kernel_block(data).update(targets=[]),
    ],
)
def test_a_damaged_file_is_refused(make_row, tmp_path, damage):
    path, data = document(make_row, tmp_path)
    damage(data)
    path.write_text(json.dumps(data))
    with pytest.raises(SettingsError, match="is damaged"):
        load_baseline(path)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "something", "version": 1}'])
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(SettingsError, match="is no code-object baseline of version 1"):
        load_baseline(tmp_path / "b.json")


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "b.json").write_bytes(content)
    with pytest.raises(SettingsError, match=r"cannot read the code-object baseline .*b\.json"):
        load_baseline(tmp_path / "b.json")


def test_figures_keep_what_the_report_shows(make_row):
    (kept,) = baseline_of([make_row(vgprs=40, agprs=4)]).values()
    assert asdict(kept) == {
        "vgprs": 40,
        "agprs": 4,
        "sgprs": 24,
        "vgpr_spills": 0,
        "sgpr_spills": 0,
        "lds_bytes": 1024,
        "scratch_bytes": 0,
        "kernarg_bytes": 24,
        "code_bytes": 512,
        "waves": 32,
        "simds": 4,
    }
