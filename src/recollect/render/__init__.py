"""Words for results: text for agents, blocks for a person's terminal. Pure; prints nothing."""
