"""How memories age and change shape: pure decisions that return plans."""
