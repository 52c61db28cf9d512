"""The door that agents' hooks come through: `answer.py` parses an event, calls the one operation behind it and renders
the reply. What is decided is behind `ops`; what hosts' payloads look like is up to `agents`."""
