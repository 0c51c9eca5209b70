"""Makes the stand-in a program that is called MIOpenDriver."""

import shlex
import sys
from pathlib import Path


def install_stand_in(folder):
    """Write the program into a folder; the shell hands over to it at once, so that signals reach it."""
    program = Path(folder) / "MIOpenDriver"
    stand_in = Path(__file__).with_name("program.py")
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-S", str(stand_in)])} "$@"\n')
    program.chmod(0o755)
    return program
