"""How long tests wait for what must come."""

# Seconds until a wait is given up, on however busy a machine. Only what fails pays it.
PATIENCE = 120.0
