"""What is worth keeping of what a person says. Pure: text in, rules with their reasons out.

One pipeline (pipeline.py), an ordered tuple of steps over a frozen Draft. Patterns are data, one file a language
(languages/). Does not redact, store or merge: `ops` hands in clean text and writes what comes out.
"""
