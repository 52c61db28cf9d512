"""Markdown notes in folders: what stands in a file, and the files themselves. Touches files, decides nothing.

Both dialects are read from the text and changed by splicing into it, so what is not changed stays byte for byte. Which
notes the files become is decided in `jobs/vault_sync.py`.
"""
