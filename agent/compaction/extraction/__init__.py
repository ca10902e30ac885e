"""What code takes from the messages themselves, without a model."""
