"""The numeric sweep: every solver that applies, over smoke, edge shapes and a stratified sample of the other lists.

`python -m tests.sweep --help` tells how; `tox -e sweep` runs it.
"""
