"""What is worth keeping of what people and agents say and do. Pure: `app` and `jobs` hand in clean text and
write what comes out. Word lists and patterns are data (tables.py, data/).

A prompt becomes rules: `prompt_text`, `prompt_rules`, `rule_relations`; what a model is asked: `model_questions`.
A turn becomes part of a thread: `turns`, `terms`, `records`, `titles`, `thread_choice`.
A failure and its fix become a lesson: `failed_commands`, `lesson_finder`.
How calls and turns went: `call_outcomes`.
"""
