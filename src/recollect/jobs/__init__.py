"""Background work: one table of jobs and what runs it (`runner.py`), a small piece at a time."""
