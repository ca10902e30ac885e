"""Whether the messages bear out what a summary says, told by code."""
