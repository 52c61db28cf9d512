"""Decides what answers a question. Pure: evidence in, hits and reasons out.

matching         how well each unit matches, and whether it is relevant enough to be shown to someone who did not ask
time_words       the time that a question names
answer_passages  which part of a memory answers
selection        the one formula of priority; what is left after filters, duplicates and limits, and why the rest is not
call_rules       which rules are about a tool call
model_choice     what a language model is asked when it chooses, and what its answer means
"""
