"""Our pieces in files of others: what makes an agent call us, and what we write where agents read by themselves.

`managed.py` is the one mechanism (add, renew, check, take back byte for byte, one receipt file); the other files say
which pieces there are and how each kind of file is edited. Knows nothing of operations.
"""
