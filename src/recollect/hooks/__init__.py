"""The door that agents' hooks come through: an event in, what the hook prints out.

`events.py` is the table of events and the operation behind each; `answer.py` parses, calls that one operation, and
renders. What is remembered and decided is behind `ops`; what hosts' payloads look like is up to `agents`.
"""

from recollect.hooks.answer import Answer, Apps, Hooks, OneShotApps, Received

__all__ = ["Answer", "Apps", "Hooks", "OneShotApps", "Received"]
