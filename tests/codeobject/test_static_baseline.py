"""What counts as worse, what as better, and a file that says the same when it is read again."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from static_rows import baseline_of

from pytest_miopen_perf.codeobject.baseline import StaticFigures, StaticKey, key_of
from pytest_miopen_perf.codeobject.baseline_file import baseline_path, load_baseline, save_baseline
from pytest_miopen_perf.codeobject.judgement import StaticJudgement, StaticVerdict, compare, compare_figures
from pytest_miopen_perf.codeobject.limits import Growth, StaticLimits
from pytest_miopen_perf.errors import BaselineError, CompileError, SettingsError

STRICT = StaticLimits(lds=Growth(), code=Growth())
FIELDS = tuple(StaticFigures.__dataclass_fields__)
LIMIT_OF = {
    "vgpr_spills": "spills",
    "sgpr_spills": "spills",
    "scratch_bytes": "scratch",
    "lds_bytes": "lds",
    "code_bytes": "code",
}
"""Figures of which more is worse, and what limits them; of waves, fewer are worse."""
INDIFFERENT = ("vgprs", "agprs", "sgprs", "kernarg_bytes")

counts = st.integers(0, 2**31)
figures = st.builds(StaticFigures, **dict.fromkeys(FIELDS, counts) | {"simds": st.integers(1, 8)})
growths = st.builds(Growth, count=st.integers(0, 500))
limits = st.builds(StaticLimits, **dict.fromkeys(StaticLimits.__dataclass_fields__, growths))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
keys = st.builds(StaticKey, **dict.fromkeys(StaticKey.__dataclass_fields__, texts))


@given(same=figures, bounds=limits)
def test_no_change_passes_without_a_word(same, bounds):
    assert compare_figures(same, same, bounds) == (StaticVerdict.PASS, [])


@given(before=figures, bounds=limits, name=st.sampled_from(list(LIMIT_OF)), beyond=st.integers(1, 1000))
def test_growth_past_its_limit_is_a_regression(before, bounds, name, beyond):
    limit = getattr(bounds, LIMIT_OF[name]).count
    now = replace(before, **{name: getattr(before, name) + limit + beyond})
    verdict, reasons = compare_figures(before, now, bounds)
    assert verdict is StaticVerdict.REGRESSION
    assert len(reasons) == 1


@given(before=figures, bounds=limits, name=st.sampled_from(list(LIMIT_OF)), data=st.data())
def test_growth_within_its_limit_passes(before, bounds, name, data):
    limit = getattr(bounds, LIMIT_OF[name]).count
    now = replace(before, **{name: getattr(before, name) + data.draw(st.integers(0, limit))})
    assert compare_figures(before, now, bounds)[0] is StaticVerdict.PASS


@given(before=figures, bounds=limits, lost=st.integers(1, 1000))
def test_waves_may_be_lost_up_to_the_limit(before, bounds, lost):
    before = replace(before, waves=before.waves + lost)
    verdict, _ = compare_figures(before, replace(before, waves=before.waves - lost), bounds)
    assert verdict is (StaticVerdict.REGRESSION if lost > bounds.waves.count else StaticVerdict.PASS)


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        ((64, 4), (32, 2), StaticVerdict.PASS),
        ((64, 4), (31, 2), StaticVerdict.REGRESSION),
        ((32, 2), (64, 4), StaticVerdict.PASS),
        ((32, 2), (60, 4), StaticVerdict.REGRESSION),
        ((30, 2), (64, 4), StaticVerdict.IMPROVED),
    ],
)
def test_waves_are_compared_on_as_many_simds(make_row, before, now, verdict):
    """A work-group of RDNA that spreads over two units has four SIMDs, one that stays on a unit has two."""
    (plain,) = baseline_of([make_row()]).values()
    had, has = (replace(plain, waves=waves, simds=simds) for waves, simds in (before, now))
    assert compare_figures(had, has, STRICT)[0] is verdict


def test_dynamic_shared_memory_is_shared_memory(make_row):
    """Of which the compiler knows nothing: the launch tells."""
    small, large = (
        replace(row, outcome=replace(row.outcome, shared_bytes=shared_bytes))
        for row, shared_bytes in ((make_row(), 2048), (make_row(), 8192))
    )
    (judgement,) = compare([large], baseline_of([small]))
    assert judgement.verdict is StaticVerdict.REGRESSION
    assert judgement.reasons == ("bytes of LDS: 3072, now 9216 (limit 1024 more)",)


@given(before=figures, name=st.sampled_from(INDIFFERENT), count=counts)
def test_registers_alone_decide_nothing(before, name, count):
    assert compare_figures(before, replace(before, **{name: count}), STRICT)[0] is StaticVerdict.PASS


@given(before=figures, now=figures)
def test_an_improvement_is_a_regression_the_other_way_round(before, now):
    now = replace(now, code_bytes=before.code_bytes, simds=before.simds)
    forth, back = compare_figures(before, now, STRICT)[0], compare_figures(now, before, STRICT)[0]
    if forth is StaticVerdict.IMPROVED:
        assert back is StaticVerdict.REGRESSION
    if forth is StaticVerdict.PASS:
        assert back is StaticVerdict.PASS


@given(before=figures, fewer=st.integers(1, 1000))
def test_shorter_code_is_no_better_kernel(before, fewer):
    longer = replace(before, code_bytes=before.code_bytes + fewer)
    assert compare_figures(longer, before, STRICT) == (StaticVerdict.PASS, [])


@given(before=figures, now=figures)
def test_what_is_off_is_not_judged(before, now):
    nothing = StaticLimits(**dict.fromkeys(StaticLimits.__dataclass_fields__))
    assert compare_figures(before, now, nothing)[0] is not StaticVerdict.REGRESSION


@given(before=figures, now=figures, bounds=limits)
def test_wider_limits_never_make_a_regression(before, now, bounds):
    if compare_figures(before, now, STRICT)[0] is not StaticVerdict.REGRESSION:
        assert compare_figures(before, now, bounds)[0] is not StaticVerdict.REGRESSION


@given(before=figures, better=st.integers(1, 9), worse=st.integers(1, 9))
def test_spills_are_not_paid_for_with_waves(before, better, worse):
    now = replace(before, waves=before.waves + better, vgpr_spills=before.vgpr_spills + worse)
    assert compare_figures(before, now, STRICT)[0] is StaticVerdict.REGRESSION


def test_the_sentence_shows_both_figures_and_the_limit(make_row):
    before, now = make_row(), make_row(waves=20, vgpr_spills=7, scratch_bytes=28, lds_bytes=4096, code_bytes=9000)
    (judgement,) = compare([now], baseline_of([before]))
    assert judgement.verdict is StaticVerdict.REGRESSION
    assert judgement.reasons == (
        "spilled registers: 0, now 7 (limit 0 more)",
        "bytes of scratch: 0, now 28 (limit 0 more)",
        "bytes of LDS: 1024, now 4096 (limit 1024 more)",
        "bytes of code: 512, now 9000 (limit 4096 or 50% more)",
        "waves on 4 SIMDs: 32, now 20 (limit 0 fewer)",
    )


def test_what_the_baseline_has_granted_is_no_fault(make_row):
    spilling = make_row(vgpr_spills=7, scratch_bytes=28)
    (granted,) = compare([spilling], baseline_of([spilling]))
    assert (granted.verdict, granted.reasons) == (StaticVerdict.PASS, ())
    for baseline in ({}, None):
        (new,) = compare([spilling], baseline)
        assert new.verdict is StaticVerdict.FAULTY
        assert "it spills 7 vector registers" in new.reasons
        assert "it keeps 28 bytes of each work-item in scratch" in new.reasons


def test_limits_say_what_a_new_kernel_may_spill(make_row):
    spilling = make_row(vgpr_spills=7, scratch_bytes=28)
    for spills, verdict in ((7, StaticVerdict.NO_BASELINE), (6, StaticVerdict.FAULTY)):
        (new,) = compare([spilling], {}, StaticLimits(spills=Growth(count=spills), scratch=None))
        assert new.verdict is verdict


def test_without_a_baseline_nothing_is_compared(make_row):
    (judgement,) = compare([make_row()], None)
    assert (judgement.verdict, judgement.before, judgement.reasons) == (StaticVerdict.NOT_COMPARED, None, ())


def test_another_compiler_is_no_baseline_and_both_are_named(make_row):
    (judgement,) = compare([make_row(compiler="zig clang 23")], baseline_of([make_row(compiler="zig clang 22")]))
    assert judgement.verdict is StaticVerdict.NO_BASELINE
    assert judgement.reasons == ("the baseline is of zig clang 22; this compiler is zig clang 23",)


@pytest.mark.parametrize("change", [{"target": "gfx90a"}, {"compiler": "zig clang 23", "target": "gfx90a"}])
def test_what_the_baseline_lacks_is_said(make_row, change):
    (judgement,) = compare([make_row(**change)], baseline_of([make_row()]))
    assert judgement.verdict is StaticVerdict.NO_BASELINE
    assert judgement.reasons == ("the baseline does not hold this kernel with this config for this target",)


def test_a_kernel_that_no_longer_compiles_is_a_regression(make_row):
    broken = make_row(outcome=CompileError("scale does not compile", "error: no"))
    (judgement,) = compare([broken], baseline_of([make_row()]))
    assert judgement.verdict is StaticVerdict.REGRESSION
    assert judgement.reasons[0] == "it compiled before, and does not now"
    assert "error: no" in judgement.reasons[1]
    assert baseline_of([broken]) == {}


def test_text_and_macros_may_change_under_the_same_key(make_row):
    row = make_row()
    kernel = replace(row.case.kernel, file="/elsewhere/scale.hip", defines=(("BLOCK", "64"),))
    assert key_of(replace(row, case=replace(row.case, kernel=kernel, work_items=64))) == key_of(row)
    for change in ({"problem": "x"}, {"solver": "x"}, {"config": "x"}, {"name": "x"}, {"target": "gfx90a"}):
        assert key_of(replace(row, case=replace(row.case, **change))) != key_of(row)


@pytest.mark.parametrize(
    ("verdict", "plain", "strict"),
    [
        (StaticVerdict.REGRESSION, True, True),
        (StaticVerdict.FAULTY, True, True),
        (StaticVerdict.NO_BASELINE, False, True),
        (StaticVerdict.IMPROVED, False, False),
        (StaticVerdict.PASS, False, False),
        (StaticVerdict.NOT_COMPARED, False, False),
    ],
)
def test_what_fails_a_test(make_row, verdict, plain, strict):
    (judgement,) = compare([make_row()], None)
    judgement = replace(judgement, verdict=verdict)
    assert (judgement.is_red(is_strict=False), judgement.is_red(is_strict=True)) == (plain, strict)


def test_a_judgement_comes_back_from_builtins(make_row):
    broken = make_row(outcome=CompileError("scale does not compile"))
    for judgement in compare([make_row(), make_row(target="gfx90a"), broken], baseline_of([make_row(waves=20)])):
        assert StaticJudgement.from_json(json.loads(json.dumps(judgement.to_json()))) == judgement


def test_a_name_is_a_file_beside_the_times_of_that_name(tmp_path):
    assert baseline_path("main", tmp_path) == tmp_path / "main.static.json"
    assert baseline_path("b.json", tmp_path) == Path("b.json").absolute()
    with pytest.raises(SettingsError, match="is no name of a baseline"):
        baseline_path("a b", tmp_path)


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
    with pytest.raises(BaselineError, match=r"No space left.*what was there is unchanged"):
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
        lambda data: kernel_block(data).pop("config"),
        lambda data: kernel_block(data).update(kernel=None),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(waves=-1),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(waves=True),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(simds=0),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(waves=10**400),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(code_bytes=10**400),
        lambda data: kernel_block(data)["targets"]["gfx942"].update(joy=1),
        lambda data: kernel_block(data)["targets"]["gfx942"].pop("vgprs"),
        lambda data: kernel_block(data).update(targets=[]),
        lambda data: data["compilers"].update({"zig clang 22": {}}),
        lambda data: data["compilers"]["zig clang 22"].append(kernel_block(data)),
    ],
)
def test_a_damaged_file_is_refused(make_row, tmp_path, damage):
    path, data = document(make_row, tmp_path)
    damage(data)
    path.write_text(json.dumps(data))
    with pytest.raises(BaselineError, match="is damaged"):
        load_baseline(path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "is JSON, but no code-object baseline of pytest-miopen-perf; give another file"),
        ('{"format": "something", "version": 1}', "is JSON, but no code-object baseline"),
        ("{", "is damaged: line 1: Expecting"),
        ("[" * 100_000, "is damaged"),
        ("<<<<<<< ours\n{}\n", "marks of a merge conflict; resolve it"),
        ('{"format": "pytest-miopen-perf code-object baseline", "version": "1"}', "is damaged: its version is '1'"),
        (
            '{"format": "pytest-miopen-perf code-object baseline", "version": 2}',
            "has format version 2, and this program knows 1; update pytest-miopen-perf",
        ),
    ],
)
def test_another_file_is_refused(tmp_path, text, what):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(BaselineError, match=what):
        load_baseline(tmp_path / "b.json")


@pytest.mark.parametrize(("content", "what"), [(b"\xff\xfe", "cannot be read"), (None, "there is no code-object base")])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, what):
    if content is not None:
        (tmp_path / "b.json").write_bytes(content)
    with pytest.raises(BaselineError, match=rf"{what}.*b\.json|b\.json.*{what}"):
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
