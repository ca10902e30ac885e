FROM python:3.11-slim
WORKDIR /app
# glibc would keep freed memory in an arena per thread.
ENV PYTHONUNBUFFERED=1 DATA_DIR=/app/var MALLOC_ARENA_MAX=2
# With the extra for MCP servers.
COPY requirements/mcp.txt requirements/
RUN pip install --no-cache-dir --require-hashes -r requirements/mcp.txt
COPY . .
# A key is needed to load the settings and is not kept; the containers get theirs from compose.
RUN mkdir -p var/media && python -m agent.vocabulary var/tiktoken && python manage.py collectstatic --noinput -v0 \
    && rm -f var/secret_key && useradd --system everlong && chown -R everlong var
USER everlong
CMD ["python", "manage.py", "serve", "--no-worker"]
