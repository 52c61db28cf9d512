"""The hook process, its protocol, and both ends of the line to the daemon. Standard library alone; knows no other room.

`hook.py` runs once for every event of every agent, so it usually imports only what is built into the interpreter
(`posix`, `time`, `marshal`) or a small extension (`_socket`, `_json`): no `os`, `json`, `re`, `typing`, no dataclass.
`client.py` is loaded only where no daemon answers."""
