"""A door: memory as MCP tools and resources over stdio. One server per session; each passes its calls to the one daemon
and holds nothing itself."""
