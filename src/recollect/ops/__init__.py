"""Everything Recollect can do: one function per operation, listed in table.py.

Each loads data from the store, calls the pure packages to decide, and applies the plan. The command line, MCP and the
daemon call an operation and render its result; they know nothing of how it works.
"""
