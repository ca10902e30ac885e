"""The API as a whole: its routers, its document, its page."""

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from chat.api import (
    compactions,
    conversations,
    exports,
    imports,
    library,
    messages,
    queue,
    turns,
)
from chat.api.docs import DocsPage, let_readers_in
from chat.api.errors import handle_errors


class Api(NinjaAPI):
    """Calls its operations as their functions are called, and says which scope each needs."""

    _document: OpenAPISchema | None = None

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    def get_openapi_schema(self, **_: object) -> OpenAPISchema:
        """The document, which is made once: that takes half a second."""
        if self._document is None:
            self._document = self._make_document()
        return self._document

    def _make_document(self) -> OpenAPISchema:
        document = super().get_openapi_schema()
        scopes = {
            operation.view_func.__name__: operation.auth_callbacks[0].scope  # type: ignore[attr-defined]
            for router in self._get_bound_routers()
            for view in router.path_operations.values()
            for operation in view.operations
        }
        for methods in document["paths"].values():
            for told in methods.values():
                told["security"] = [{"AccessToken": [scopes[told["operationId"]]]}]
        return document


api = Api(
    title="Everlong",
    version="1",
    description="The API of your own programs. Each request brings an access token, which you make "
    "in the settings: `Authorization: Bearer ev_…`. docs/api.md has examples.",
    urls_namespace="api",
    docs=DocsPage(),
    docs_url="/docs/",
    docs_decorator=let_readers_in,
)
handle_errors(api)
for module in (conversations, messages, turns, queue, compactions):
    api.add_router("/conversations", module.router)
api.add_router("/imports", imports.router)
api.add_router("", library.router)
api.add_router("", exports.router)
