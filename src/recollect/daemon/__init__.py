"""The process that answers hooks: one per home, started by the first that needs it, ended by itself.

`startup.py` is the order of events, `socket_server.py` talks, `requests.py` knows what is asked for, `apps.py` holds
the open projects, `service.py` puts it together and runs the jobs (recollect.jobs). Threads, not asyncio: it waits for
SQLite and numpy, and both let other threads run meanwhile.
"""
