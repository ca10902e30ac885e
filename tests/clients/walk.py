"""Walks through the API of a running server: schemathesis makes requests of its document, valid and
invalid ones, and puts what answers say into the next. A 5xx fails, and so does an answer that the
document does not have. Writes the statuses of all answers, by operation, as JSON.

In a process of its own: it brings pytest plugins and patches along.
"""

import json
import os
import sys
import urllib.request
from collections import Counter, defaultdict
from typing import Any

import hypothesis
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]
# What nothing that is made up could name.
NAMES = ("model", "project", "files", "expected_head")
URL, TOKEN = os.environ["EVERLONG_URL"], os.environ["EVERLONG_TOKEN"]
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


def post(path: str, body: Any) -> Any:
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}/api/v1{path}", data, HEADERS)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def main() -> None:
    conversation = post("/conversations", {"title": "Walked through"})["id"]
    turn = post(f"/conversations/{conversation}/messages", {"text": "Hello"})["id"]
    schema = schemathesis.openapi.from_url(
        f"{URL}/api/v1/openapi.json", headers={"Authorization": HEADERS["Authorization"]}
    )
    answers: defaultdict[str, Counter[int]] = defaultdict(Counter)

    @schema.hook
    def map_path_parameters(context: Any, path_parameters: Any) -> Any:
        """What is made up names nothing: mostly the conversation, and a few of its messages."""
        named = dict(path_parameters or {})
        if "conversation" in named and context.operation.method != "delete":
            named["conversation"] = conversation
        if isinstance(named.get("number"), int):
            named["number"] = named["number"] % 8
        if isinstance(named.get("turn"), int):
            named["turn"] = turn
        return named or path_parameters

    @schema.hook
    def map_body(context: Any, body: Any) -> Any:
        if isinstance(body, dict):
            return {name: value for name, value in body.items() if name not in NAMES}
        return body

    class Walk(schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": {"Authorization": HEADERS["Authorization"]}}

        def validate_response(self, response: Any, case: Any, **named: Any) -> None:
            answers[case.operation.label][response.status_code] += 1
            case.validate_response(response, checks=CHECKS)

    Walk.run(
        settings=hypothesis.settings(
            max_examples=15,
            stateful_step_count=12,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
    )
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
