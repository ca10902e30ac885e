"""Choices of a form's field that are known only when it is made."""

from collections.abc import Sequence
from typing import Any

from django import forms


def set_choices(form: forms.BaseForm, name: str, choices: Sequence[tuple[Any, str]]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices
