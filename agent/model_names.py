"""What models are called. At the server that the site was started for, a model is called by its id
there; at any other provider by that one's name, two colons, and the id. Ids have slashes and single
colons in them, but no two colons: a name says for certain who gets what is sent."""

MARK = "::"


def split_name(name: str) -> tuple[str, str]:
    """The provider's name, "" for the site's own server, and the model's id there."""
    provider, mark, model_id = name.partition(MARK)
    return (provider, model_id) if mark else ("", name)


def find_id(name: str) -> str:
    """The id that a server knows a model by."""
    return split_name(name)[1]


def join_name(provider: str, model_id: str) -> str:
    """The name of a provider's model."""
    return f"{provider}{MARK}{model_id}" if provider else model_id
