"""The door that agents' hooks come through: an event in, what the hook prints out.

`events.py` is the table, `handlers.py` one short function an event, `virtual.py` reads the names of files that are
not there. What is remembered and decided is behind `ops`; what hosts' payloads look like is `agents`' matter.
"""

from recollect.hooks.answer import Answer, Apps, Hooks, Received

__all__ = ["Answer", "Apps", "Hooks", "Received"]
