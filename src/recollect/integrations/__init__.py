"""Entries that we add to other programs' files so that agents call us, and copies of rules in places that agents
read on their own.

`piece_installer.py` is the one mechanism (add, renew, check, remove byte for byte, one receipt file); the other files
say which pieces there are and how each kind of file is edited. Knows nothing of operations.
"""
