"""The version of this release: the one place that says it."""

VERSION = "0.1.0"
