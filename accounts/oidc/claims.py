"""What a provider of identities says of a person. `data`: {"id_token": …, "userinfo": …}, each the
claims of one document; the latter may be missing."""

import json
from collections.abc import Mapping
from typing import Any


def is_about(document: Any, subject: str) -> bool:
    """Whether a document is about the person whom the provider knows by this id."""
    return isinstance(document, dict) and document.get("sub") == subject


def merge_claims(data: Mapping[str, Any]) -> dict[str, Any]:
    """The claims of both documents; those of the user info win, which are as of now."""
    return {**(data.get("id_token") or {}), **(data.get("userinfo") or {})}


def find_verified_address(data: Mapping[str, Any]) -> str | None:
    """The person's address in small letters, if the provider says that it is theirs. Both claims
    are taken from the same document; some providers write the truth as a text."""
    for document in (data.get("userinfo") or {}, data.get("id_token") or {}):
        if address := document.get("email"):
            said = document.get("email_verified")
            return str(address).lower() if said is True or said == "true" else None
    return None


def find_groups(claims: Mapping[str, Any], name: str) -> set[str]:
    """The values of the claim with that name: a list of texts, or one text. Others say nothing."""
    value = claims.get(name)
    values = value if isinstance(value, list) else [value]
    return {each for each in values if isinstance(each, str)}


def keep_texts(claims: Mapping[str, Any]) -> dict[str, str]:
    """Those that are texts: names and addresses are nothing else."""
    return {name: value for name, value in claims.items() if isinstance(value, str)}


def is_storable(data: Mapping[str, Any]) -> bool:
    """Whether every database takes what is said: no NUL, and no half of a character."""
    text = json.dumps(data, ensure_ascii=False)
    return "\\u0000" not in text and text == text.encode(errors="replace").decode()
