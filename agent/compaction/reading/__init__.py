"""A model's reply read as a record, however it is laid out."""
