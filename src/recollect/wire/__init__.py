"""The hook process, its protocol, and both ends of the line to the daemon. Standard library alone.

`hook.py` runs once for every event of every agent, so what it imports on its usual way is built into the
interpreter (`posix`, `time`, `marshal`) or a small extension (`_socket`, `_json`): no `os`, `json`, `re`, `typing`, no
dataclass. `spawn.py` is loaded only where no daemon answers; `spool.py` is the daemon's. `stub.py` packs the rest into
one precompiled file in the user's home, which works without, and outlives, the installed package.

Reads the environment of a hook (`hook.py`): it is what has to be passed on. Knows no other room.
"""
