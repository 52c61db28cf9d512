"""The command line: a door. Parses, calls one operation, prints what it answers. Commands are made from the table of
operations when they are called, so that `--help` loads nothing else."""

from recollect.cli.main import main as main
