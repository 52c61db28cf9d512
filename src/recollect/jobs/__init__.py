"""Background work: one table of jobs (`job_table.py`) and one runner (`runner.py`).

Jobs run at low priority, a small piece at a time, on connections of their own; no answer waits for them.
"""
