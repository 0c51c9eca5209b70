from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.solvers.workspace import aligned_offsets


@given(st.lists(st.integers(0, 10_000), max_size=6))
def test_buffers_lie_behind_one_another_each_where_it_may_begin(sizes):
    offsets = aligned_offsets(sizes)
    assert offsets[0] == 0
    assert all(offset % 256 == 0 for offset in offsets)
    assert all(size <= end - begin < size + 256 for size, begin, end in zip(sizes, offsets, offsets[1:], strict=False))
