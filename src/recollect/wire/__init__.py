"""The hook process, its protocol, and both ends of the line to the daemon. Standard library alone.

`hook.py` runs once for every event of every agent, so everything it usually imports is built into the interpreter
(`posix`, `time`, `marshal`) or a small extension (`_socket`, `_json`): no `os`, `json`, `re`, `typing`, no dataclass.
`spawn.py` is loaded only where no daemon answers; `spool.py` is the daemon's. `stub.py` packs the rest into one
precompiled file in the user's home, which does not need the installed package and outlives it.

`hook.py` reads the environment, because it must be passed on. Knows no other room.
"""
