"""The API's document as a page, and who reads them: people who are signed in, and programs with any
good token. It says nothing of anybody, but a stranger need not know what there is.

The page is drawn here: what Ninja brings for it is a megabyte of scripts.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase

from accounts.doors import read_token
from accounts.tokens import ANY_SCOPE
from chat.api.auth import let_in
from chat.api.errors import ApiError, respond

View = Callable[..., HttpResponse]
Schema = dict[str, Any]

METHODS = ("get", "post", "patch", "put", "delete")  # in which order they are listed


def let_readers_in(view: View) -> View:
    """`login_required`, or an access token."""
    for_people = login_required(view)

    @wraps(view)
    def enter(request: HttpRequest, **named: Any) -> HttpResponse:
        if not read_token(request):
            return for_people(request, **named)
        try:
            let_in(request, ANY_SCOPE)
        except ApiError as error:
            return respond(error)
        return view(request, **named)

    return enter


class DocsPage(DocsBase):
    """All operations by subject, and all objects that they take and give."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **named: Any) -> HttpResponse:
        document = api.get_openapi_schema()
        subjects: dict[str, list[Schema]] = {}
        for operation in _list_operations(document["paths"]):
            subjects.setdefault(operation["subject"], []).append(operation)
        objects = document["components"]["schemas"]
        context = {
            "subjects": subjects,
            "objects": {name: _list_fields(objects[name]) for name in sorted(objects)},
        }
        return render(request, "chat/api/docs.html", context)


def _list_operations(paths: Schema) -> Iterator[Schema]:
    for path, methods in paths.items():
        for method in filter(methods.__contains__, METHODS):
            told = methods[method]
            [[scopes]] = [each.values() for each in told["security"]]
            yield {
                "name": told["operationId"],
                "subject": told["tags"][0],
                "method": method.upper(),
                "path": path,
                "scope": scopes[0],
                "description": told.get("description", ""),
                "parameters": [
                    {
                        "name": each["name"],
                        "place": each["in"],
                        "type": _name_type(each["schema"]),
                        "needed": each["required"],
                        "description": each.get("description", ""),
                    }
                    for each in told["parameters"]
                ],
                "takes": _name_content(told.get("requestBody", {})),
                "gives": [
                    (status, _name_content(answer))
                    for status, answer in told["responses"].items()
                    if int(status) < 400
                ],
            }


def _name_content(body: Schema) -> list[Schema]:
    """What a body may be, each with its kind and the type of its object."""
    return [
        {"kind": kind, "type": _name_type(content.get("schema", {}))}
        for kind, content in body.get("content", {}).items()
    ]


def _list_fields(schema: Schema) -> list[Schema]:
    needed = schema.get("required", [])
    return [
        {
            "name": name,
            "type": _name_type(field),
            "needed": name in needed,
            "description": field.get("description", ""),
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _name_type(schema: Schema) -> Schema:
    """A type in `words`, and the `object` that it leads to, "" for none."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return {"words": name, "object": name}
    if several := schema.get("anyOf") or schema.get("allOf"):
        types = [_name_type(each) for each in several]
        words = " | ".join(each["words"] for each in types)
        return {"words": words, "object": next((each["object"] for each in types), "")}
    if schema.get("type") == "array":
        of = _name_type(schema.get("items", {}))
        return of | {"words": f"{of['words']}[]"}
    if "enum" in schema:
        return {"words": " | ".join(map(str, schema["enum"])), "object": ""}
    return {"words": schema.get("format") or schema.get("type") or "any", "object": ""}
