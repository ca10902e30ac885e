"""What tool calls do: handlers that need the database."""
