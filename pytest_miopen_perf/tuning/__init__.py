"""The search over the configs of one solver.

A config goes through four gates: it compiles, its numbers are right, one execution is not clearly worse than the best,
and in the end the last few are measured again side by side. Whatever fails is a row of the outcome and never ranked.
Rooms: `rule` (when to stop), `compiling` (threads ahead of the measuring one), `search`, `race` (the end), `ranking`.
"""
