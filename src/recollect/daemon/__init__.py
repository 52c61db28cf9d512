"""The process that answers hooks: one to a home, started by the first that needs it, ended by itself.

`life.py` is the order of events, `server.py` talks, `desk.py` knows what is asked for, `apps.py` holds what
answers, `chores.py` does what can wait. Threads, not asyncio: what is waited for is SQLite and numpy, and both let
other threads run meanwhile.
"""
