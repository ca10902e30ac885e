"""The Celery application, for `celery -A config worker` and for `manage.py serve`'s own worker."""

import os

from celery import Celery

# Set before Celery() so that its Django fixup closes database connections after each task.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("everlong")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
