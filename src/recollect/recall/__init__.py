"""Decides what answers a question. Pure: evidence in, hits and reasons out.

lexical    what the words say of each memory
fuse       words and vectors together, then the company a memory keeps (neighbours, group)
weigh      how strong, how useful, how much in focus: the one formula of priority
pick       what is left after filters, duplicates and budgets, and why the rest is not
"""
