"""The API as a whole: its routers, its document, its pages."""

from ninja import NinjaAPI
from ninja.operation import Operation

from chat.api import compactions, conversations, library, messages, turns
from chat.api.docs import let_readers_in
from chat.api.errors import handle_errors


class Api(NinjaAPI):
    """Calls its operations as their functions are called."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


api = Api(
    title="Everlong",
    version="1",
    description="The API of your own programs. Each request brings an access token, which you make "
    "in the settings: `Authorization: Bearer ev_…`. docs/api.md has examples.",
    urls_namespace="api",
    docs_url="/docs/",
    docs_decorator=let_readers_in,
)
handle_errors(api)
for router in (conversations.router, messages.router, turns.router, compactions.router):
    api.add_router("/conversations", router)
api.add_router("", library.router)
