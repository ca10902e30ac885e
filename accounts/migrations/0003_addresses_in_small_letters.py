from typing import Any

from django.db import migrations
from django.db.models import F
from django.db.models.functions import Lower


def write_small(apps: Any, schema_editor: Any) -> None:
    """As `User.save` writes them: django-allauth looks for addresses in small letters."""
    users = apps.get_model("accounts", "User").objects.using(schema_editor.connection.alias)
    users.exclude(email=Lower(F("email"))).update(email=Lower(F("email")))


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_money_and_access")]
    operations = [migrations.RunPython(write_small, migrations.RunPython.noop)]
