"""Decides what answers a question, and which rules are about a tool call. Pure: evidence in, hits and reasons out."""
