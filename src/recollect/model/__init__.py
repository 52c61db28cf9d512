"""The values that everything speaks in. Frozen, without behaviour that touches the world."""
