"""Benchmarks and stress tests of the real program.

store    rate, size, memory and the cost of a question, beside bare FTS5
crash    kill -9 and simulated power cuts: what was acknowledged must still be there, once
writers  many processes on one file
flips    single flipped bits: which change a value, and which of those are found
start    what `recollect --help` costs
recall   how well recall answers, beside simple systems, on suites in files (suites, systems, scores, embeddings)
hooks    what hooks cost and survive, with real processes and a real daemon (house, hook_*, *faults)
secrets  made-up secrets through the real App: is one found on disk, what is taken for one, what it costs
engine   what a recall costs as the store grows, beside numpy's exact search and bare FTS5

Each returns a frozen report with `passed` and `to_json`. Nothing here prints or asks.
"""
