"""The Celery application, for `celery -A config worker` and for `manage.py serve`'s own worker."""

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import celeryd_init

# Set before Celery() so that its Django fixup closes database connections after each task.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("everlong")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_init.connect
def keep_files_private(**_: Any) -> None:
    """For a worker process. `manage.py serve` does the same for itself."""
    from chat.db import private_files

    private_files.keep_private()


@celeryd_init.connect
def check_schema(**_: Any) -> None:
    """A worker does not start on tables that it does not know. `manage.py serve` does the same."""
    from django.db import connection

    from chat.queries import schema

    if misfit := schema.find_misfit():
        sys.exit(str(misfit))
    connection.close()  # this thread asks nothing more


@celeryd_init.connect
def load_ahead(**_: Any) -> None:
    """Before the first task: on a busy machine it takes so long that the heartbeat stops, and
    the worker looks dead. `manage.py serve` does it once its port is open."""
    from chat.engine import model_server

    model_server.load_ahead()
