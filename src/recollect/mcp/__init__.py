"""A door: memory as MCP tools and resources, over standard input and output. One server a session; each passes what it
is asked to the one daemon, and holds nothing itself."""
