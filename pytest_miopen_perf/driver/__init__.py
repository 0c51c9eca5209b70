"""MIOpenDriver's own output, read: its JSON performance log, its classic text, and what is wrong with either.

`log_reader.read_log` gives every line of a JSON log as data, `pairing.RunSplitter` puts together what belongs to one
run, `semantics.check_log` says what a reader of the numbers should know. `text_reader.read_driver_text` reads the text
of the classic output, `text_runs.text_runs` gathers it.
"""
