#!/usr/bin/env python
"""Django's command line."""

import gc
import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    # With Python's 700, a tenth of a start would go into searches for cycles while modules load.
    gc.set_threshold(50_000, 20, 20)
    os.umask(0o077)  # before the settings, which make the data directory
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(sys.argv)
