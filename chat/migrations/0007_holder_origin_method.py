"""A process holds a turn and a person owns a conversation; *when* a compaction comes and *what made*
a version of a summary are two columns; a summary is written by a method."""

from django.db import migrations, models
from django.db.models import F

ORIGINS = ("edit", "rebuilt", "rewrite")


def split(apps, schema_editor):
    compactions = apps.get_model("chat", "Compaction").objects.using(schema_editor.connection.alias)
    compactions.filter(trigger__in=ORIGINS).update(origin=F("trigger"), trigger="")


def join(apps, schema_editor):
    compactions = apps.get_model("chat", "Compaction").objects.using(schema_editor.connection.alias)
    compactions.filter(origin__in=ORIGINS).update(trigger=F("origin"))


class Migration(migrations.Migration):
    dependencies = [("chat", "0006_cut_factor")]

    operations = [
        migrations.RenameField("turn", "owner", "holder"),
        migrations.RenameField("compaction", "engine", "method"),
        migrations.RenameField("compaction", "engine_reason", "method_reason"),
        migrations.AlterField(
            "compaction",
            "method",
            models.CharField(blank=True, help_text="How its text was written.", max_length=40),
        ),
        migrations.AlterField(
            "compaction",
            "method_reason",
            models.CharField(
                blank=True, help_text="Why it was not written in the way before.", max_length=200
            ),
        ),
        migrations.AlterField(
            "compaction",
            "chapters",
            models.JSONField(
                default=list,
                help_text="The full state of this version: [{text, first, through, depth, level, "
                "pins, index, gap, left_out, …}], oldest first; see "
                "agent.compaction.chapters.chapter.",
            ),
        ),
        migrations.AddField(
            "compaction",
            "origin",
            models.CharField(
                choices=[
                    ("compaction", "Compaction"),
                    ("edit", "Edit"),
                    ("rebuilt", "Rebuilt"),
                    ("rewrite", "Rewrite"),
                ],
                default="compaction",
                db_default="compaction",
                help_text="What made this version.",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            "compaction",
            "trigger",
            models.CharField(
                blank=True,
                choices=[
                    ("auto", "Auto"),
                    ("manual", "Manual"),
                    ("prepared", "Prepared"),
                    ("idle", "Idle"),
                    ("overflow", "Overflow"),
                    ("iterations", "Iterations"),
                    ("messages", "Messages"),
                    ("tool", "Tool"),
                    ("model_switch", "Model Switch"),
                ],
                help_text="When it came; empty where its origin is not a compaction.",
                max_length=12,
            ),
        ),
        migrations.RunPython(split, join),
    ]
