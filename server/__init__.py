"""Daphne with limits, so that no client takes the server's memory, files or time from the others.

A proxy in front of it may limit earlier; nothing here needs one.
"""
