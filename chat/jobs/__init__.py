"""What the Celery tasks of `chat.tasks` do: load, ask the model, hand in to a service."""
