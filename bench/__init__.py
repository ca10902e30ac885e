"""What is measured, one command each: `python -m bench.<name>`; results in docs/performance.md."""
