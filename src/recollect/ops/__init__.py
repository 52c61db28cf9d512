"""Everything Recollect can do, one function an operation, listed in table.py.

The only room that knows both halves: it loads (store), lets the pure rooms decide, and applies the plan.
Doors call an operation and render what it answers; they know nothing of the inside.
"""
