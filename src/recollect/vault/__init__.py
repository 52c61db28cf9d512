"""Markdown notes in folders: what stands in a file, and the files themselves. Touches files, decides nothing."""
