"""Everything Recollect can do: one function per operation, listed in table.py. Each loads data from the store, calls
the pure packages to decide, and applies the plan; the doors render its result and know nothing of how it works."""
