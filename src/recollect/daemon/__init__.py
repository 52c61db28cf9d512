"""The process that answers hooks: one per home, started by the first that needs it (startup.py), ended by itself.

Threads, not asyncio: it waits for SQLite and numpy, and both let other threads run meanwhile."""
