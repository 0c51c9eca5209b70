"""The HIP text of kernels: where it lies, what it includes, what identifies a binary made from it."""
