"""What every room stands on: time, ids, errors, settings, paths, text. Knows no other room."""
