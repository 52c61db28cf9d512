"""What is worth keeping of what people and agents say and do. Pure: `app` and `jobs` hand in clean text and write what
comes out. Word lists and patterns are data (tables.py, data/)."""
