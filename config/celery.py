"""The Celery application: `celery -A config worker`, or the embedded worker of `manage.py serve`."""

import os

from celery import Celery

# Set before Celery() so that its Django fixup closes database connections after each task.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("everlong")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
