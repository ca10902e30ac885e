"""What is measured, one command each: `python -m bench.<name>`. `docs/performance.md` has the results."""
