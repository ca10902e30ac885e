"""Walks through the API of a running server: schemathesis makes requests of its document, valid and
invalid ones, and puts what answers say into the next. A 5xx fails, and so does an answer that the
document does not have. In a process of its own: it brings pytest plugins and patches of its own.
"""

import os
import sys

import hypothesis
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]
LONG = r"/events$|/stop$"  # streams, and what belongs to one


def main() -> None:
    url, token = os.environ["EVERLONG_URL"], os.environ["EVERLONG_TOKEN"]
    headers = {"Authorization": f"Bearer {token}"}
    schema = schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json", headers=headers)
    machine = schema.as_state_machine()

    class Walk(machine):  # type: ignore[misc, valid-type]
        def get_call_kwargs(self, case: schemathesis.Case) -> dict[str, object]:
            return {"headers": headers}

        def validate_response(self, response, case, **named):  # type: ignore[no-untyped-def]
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


if __name__ == "__main__":
    sys.exit(main())
