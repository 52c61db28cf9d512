"""Background work: one table of jobs and the thread that runs them (`runner.py`), and the jobs themselves."""
