"""The conversation engine: pure Python on top of the Messages API, without Django."""
