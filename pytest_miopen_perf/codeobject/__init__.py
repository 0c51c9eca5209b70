"""AMD code objects built with no GPU: compile, read, judge.

What a compiler does to a kernel is deterministic where times are not: registers, spills, shared memory and scratch are
the same on every machine, so a change that costs occupancy shows on a laptop.

    architectures   what the compute units of a target offer
    toolchain       the compiler of the ziglang wheel, and which targets it knows
    compile         kernel text to code object, cached on disk
    metadata        code object to `KernelResources`
    arguments       our packed arguments against the kernel's own list
    occupancy       how many waves a compute unit holds, and what limits them
    cases           which kernels of which solvers are looked at
    table           every case on every target, and what is faulty whatever came before
    limits          how much worse is still a pass
    baseline        the figures of an earlier day
    baseline_file   figures on disk
    judgement       a verdict on the figures of today
    gate            all of it in one piece
"""
