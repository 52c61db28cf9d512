"""Takes secrets out of text before it is stored, logged, embedded, exported or sent. Pure."""

from recollect.redact.redactor import Cleaned, Redactor

__all__ = ["Cleaned", "Redactor"]
