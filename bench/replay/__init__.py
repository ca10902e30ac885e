"""Long conversations replayed in virtual time against a scripted Messages API."""
