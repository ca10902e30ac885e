from config.celery import app as celery_app
from config.threads import mend_futures

mend_futures()

__all__ = ["celery_app"]
