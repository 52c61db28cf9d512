"""Takes secrets out of text before it is stored, logged, embedded, exported or sent. Pure."""

from recollect.redact.redactor import Cleaned, Redactor, is_all_hidden

__all__ = ["Cleaned", "Redactor", "is_all_hidden"]
