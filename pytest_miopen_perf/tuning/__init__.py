"""The search over the configs of one solver.

A config goes through four gates: it compiles, its numbers are right, one execution is not clearly worse than the best,
and in the end the last few are measured again side by side. Whatever fails is a row of the outcome and never ranked.
What was tried is kept as it ends: a failure is not tried again, and an interrupted search goes on where it was.
Rooms: `rule` (when to stop), `order` (what comes next), `compiling` (threads ahead of the measuring one), `search`,
`race` (the end), `ranking`, `past_trials` (what was tried before) and `trial_file` (the same on disk).
"""
