"""What any server is asked through and may answer: proxies, limits, and no secrets."""
