"""The only writers. Each function is one short transaction; its events go out after the commit."""
