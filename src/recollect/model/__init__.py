"""The values everything speaks in. Frozen, without behaviour that touches the world.

memory   what is kept: Thread, Rule, Note, and the Messages a thread owns
bridge   a typed, weighted link between two memories
plan     what a write will do, as a value that can be printed, journalled and undone
query    what is looked for, and what was found
session  who is talking to us, and what they said
codec    every one of these as plain JSON, and back
"""
