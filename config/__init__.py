from config.celery import app as celery_app
from config.futures import patch_futures

patch_futures()

__all__ = ["celery_app"]
