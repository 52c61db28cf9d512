"""What is worth keeping of what people and agents say and do. Pure: values in, values with their reasons out.

Does not redact, store or merge: it is handed clean text, and `app` and `jobs` write what comes out. Word lists and
patterns are data (tables.py, data/). Read it in this order:

A prompt becomes rules: `language`, `prompt_text` (what the person said themselves), `draft`, `judge` (each sentence by
itself), `prompt_rules`, `model_questions` (what a language model is asked), `rule_relations` (the same as another rule,
or the opposite), `shown_memories` (words that only repeat memory).

A turn of a session becomes part of a thread: `turns`, `terms`, `records`, `titles`,
`thread_choice` (which thread), `thread_growth` (what it becomes).

A failure and its fix become a lesson: `command_errors`, `command_likeness`, `fixes`, `lesson_evidence`. How calls and
turns went: `call_outcomes`. What a session taught: `learnings`.
"""
