"""Convolutions by direct loops in Python: slow, obvious, and without a line in common with the package."""

import itertools

import numpy as np


def direct_convolution(problem, first, second):
    """The result of a canonical problem, from the same two logical arrays that the reference reads."""
    x, w, y = {"F": (first, second, None), "B": (None, first, second), "W": (first, None, second)}[
        problem.direction.value
    ]
    result = np.zeros({"F": problem.y_shape, "B": problem.x_shape, "W": problem.w_shape}[problem.direction.value])
    for at_x, at_w, at_y in _products(problem):
        if y is None:
            result[at_y] += float(x[at_x]) * float(w[at_w])
        elif x is None:
            result[at_x] += float(w[at_w]) * float(y[at_y])
        else:
            result[at_w] += float(x[at_x]) * float(y[at_y])
    return result


def _products(problem):
    """Indices into x, w and y of every product of the convolution."""
    c, k = problem.c // problem.groups, problem.k // problem.groups
    outputs = list(itertools.product(*map(range, problem.output)))
    taps = list(itertools.product(*map(range, problem.filter)))
    for n, out_channel, channel in itertools.product(range(problem.n), range(problem.k), range(c)):
        in_channel = out_channel // k * c + channel
        for out, tap in itertools.product(outputs, taps):
            position = tuple(
                o * s - p + t * d
                for o, s, p, t, d in zip(out, problem.stride, problem.pad, tap, problem.dilation, strict=True)
            )
            if all(0 <= at < size for at, size in zip(position, problem.spatial, strict=True)):
                yield (n, in_channel, *position), (out_channel, channel, *tap), (n, out_channel, *out)
