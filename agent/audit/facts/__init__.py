"""What a text says in figures, names and denials, in a form in which equal things are equal."""
