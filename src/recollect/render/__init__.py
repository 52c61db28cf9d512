"""Words for results: as JSON for programs, as blocks for a person's terminal. Pure; prints nothing."""
