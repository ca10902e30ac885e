"""The benchmarks, one command each: `python -m bench.<name>`. Results are in
docs/performance.md."""
