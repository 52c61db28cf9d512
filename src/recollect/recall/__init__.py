"""Decides what answers a question. Pure: evidence in, hits and reasons out.

matching         how well each unit matches: words, vectors, the company it keeps
time_words       the time that a question names
priority         how strong, how useful, how much in focus: the one formula of priority
floor            whether a memory is relevant enough to be shown to someone who did not ask
answer_passages  which part of a memory answers
selection        what is left after filters, duplicates and limits, and why the rest is not
call_rules       which rules are about a tool call
model_choice     what a language model is asked when it chooses, and what its answer means
"""
