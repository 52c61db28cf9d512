"""Background work: one table of jobs (`job_table.py`) and one runner (`runner.py`), a small piece at a time."""
