"""Messages with what the web said as text, and the index without the agent's own searches."""

from django.db import migrations

from agent.messages import is_served, plain_text
from chat.services import search_index


def retell(apps, schema_editor):
    """Write text and index anew where either would be another today."""
    entries = apps.get_model("chat", "SearchEntry").objects
    messages = apps.get_model("chat", "Message").objects.exclude(status="streaming")
    rows = messages.select_related("conversation", "parent").order_by("pk")
    for message in rows.iterator(search_index.BATCH):
        if not any(map(_concerned, message.blocks)):
            continue
        message.text = plain_text(message.blocks)
        message.save(update_fields=["text"])
        entries.filter(pk=message.pk).delete()
        if row := search_index.entry(message.conversation.owner_id, message):
            entries.create(**row)


def _concerned(block):
    kinds = ("tool_use", "tool_result", "document")
    return is_served(block) or block.get("type") in kinds or bool(block.get("citations"))


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0005_page'),
    ]

    operations = [migrations.RunPython(retell, migrations.RunPython.noop)]
