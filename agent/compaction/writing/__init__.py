"""Asking a model for a chapter: how, with which requests, and what is done with its reply."""
