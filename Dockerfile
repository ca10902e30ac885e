FROM python:3.11-slim
LABEL org.opencontainers.image.title="Everlong" org.opencontainers.image.licenses="MIT"
WORKDIR /app
# Two malloc arenas: by default glibc keeps freed memory in an arena for each thread.
ENV PYTHONUNBUFFERED=1 DATA_DIR=/app/var MALLOC_ARENA_MAX=2
# The lock files with the extras for MCP servers and Slack.
COPY requirements/mcp.txt requirements/slack.txt requirements/
RUN pip install --no-cache-dir --require-hashes -r requirements/mcp.txt -r requirements/slack.txt
# Everything that .dockerignore does not name, LICENSE and SECURITY.md among it.
COPY . .
# collectstatic loads the settings, which make a secret key. It must not stay in the image: every
# container gets its key from compose.
RUN mkdir -p var/media && python -m agent.vocabulary var/tiktoken && python manage.py collectstatic --noinput -v0 \
    && rm -f var/secret_key && useradd --system everlong && chown -R everlong var
USER everlong
CMD ["python", "manage.py", "serve", "--no-worker"]
