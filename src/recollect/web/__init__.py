"""The page: `recollect ui` serves it on loopback while it runs."""
