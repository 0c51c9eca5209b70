"""What takes barriers out of kernels, and what turns their PTX into calls."""

import pytest
from emulated_ptx import with_ptx_called
from kernel_mutants import BARRIER, barriers_of, headers_of, kernels_with, without_barrier

from pytest_miopen_perf.kernel_source.files import kernels_dir

KERNELS = sorted(path.name for path in kernels_dir().glob("*.hip"))


def test_every_barrier_of_a_kernel_or_of_a_header_is_one_that_can_be_taken_out():
    """Whatever follows the name: a barrier that is spelt in another way would be left in."""
    found = {barrier for kernel in KERNELS for barrier in barriers_of(kernel)}
    texts = [path.read_text() for path in kernels_dir().rglob("*.[h]*") if path.is_file()]
    assert len(found) == sum(text.count("__syncthreads") for text in texts) > 0


def test_a_header_that_a_header_includes_is_one_of_the_kernel_s():
    headers = headers_of("conv_implicit_gemm_matrix.hip")
    assert {"include/warpgroup_steps.h", "include/matrix_layout.h"} <= set(headers)
    assert len(set(headers)) == len(headers)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if barriers_of(kernel)])
def test_a_copy_lacks_one_barrier_and_is_otherwise_the_same(tmp_path, kernel):
    *_, barrier = barriers_of(kernel)
    copy = kernels_with(without_barrier(barrier), tmp_path)
    originals = [path.relative_to(kernels_dir()) for path in kernels_dir().rglob("*") if path.is_file()]
    changed = [path for path in originals if (copy / path).read_bytes() != (kernels_dir() / path).read_bytes()]
    assert [str(path) for path in changed] == [barrier.file]
    before, after = ((folder / barrier.file).read_text() for folder in (kernels_dir(), copy))
    assert len(before) - len(after) == len(BARRIER)
    assert before.count(BARRIER) - after.count(BARRIER) == 1


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ('asm volatile("a.b;" ::: "memory");', 'ptx("a.b;" );'),
        (
            'asm("a::b %0, (%1);" : "+f"(x[(i)*2].y) : "r"((int)f(z)), "n"(!B) : "memory")',
            'ptx("a::b %0, (%1);" , ptx_f(x[(i)*2].y) , ptx_r((int)f(z)), ptx_n(!B) )',
        ),
        ('#define ADD(i) "+f"(at[i])\n', "#define ADD(i) ptx_f(at[i])\n"),
        ('asm("a;" \\\n : __VA_ARGS__ \\\n : "l"(b))', 'ptx("a;" \\\n , __VA_ARGS__ \\\n , ptx_l(b))'),
        ("int chasm(int asm_count);", "int chasm(int asm_count);"),
    ],
)
def test_ptx_becomes_a_call_with_its_operands_in_order(text, called):
    assert with_ptx_called(text) == called
