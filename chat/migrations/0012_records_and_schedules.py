import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0011_queued_commands")]

    operations = [
        # Django would build the whole table anew on SQLite (see 0010); so the database is told
        # directly.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE chat_conversation ADD COLUMN record_through integer DEFAULT 0 "
                    "NOT NULL CHECK (record_through >= 0)",
                    "ALTER TABLE chat_conversation DROP COLUMN record_through",
                ),
            ],
            state_operations=[
                migrations.AddField(
                    model_name="conversation",
                    name="record_through",
                    field=models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        help_text="Up to this number the messages came from elsewhere, and are "
                        "recorded by rule until their owner agrees that a model reads them; 0: "
                        "none.",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="conversation",
            name="record_agreed_at",
            field=models.DateTimeField(
                blank=True, help_text="Since when a model may read them.", null=True
            ),
        ),
        migrations.CreateModel(
            name="ScheduledPrompt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.TextField()),
                (
                    "repeat",
                    models.CharField(
                        choices=[
                            ("once", "Once"),
                            ("daily", "Daily"),
                            ("weekdays", "Weekdays"),
                            ("weekly", "Weekly"),
                            ("monthly", "Monthly"),
                        ],
                        max_length=8,
                    ),
                ),
                ("first_date", models.DateField()),
                ("time", models.TimeField()),
                ("time_zone", models.CharField(max_length=64)),
                (
                    "next_at",
                    models.DateTimeField(blank=True, help_text="Empty: it is over.", null=True),
                ),
                (
                    "pause",
                    models.CharField(
                        blank=True,
                        choices=[("by owner", "By Owner"), ("failures", "Failures")],
                        help_text="Why it rests; empty: it does not.",
                        max_length=8,
                    ),
                ),
                ("failures", models.PositiveSmallIntegerField(default=0, help_text="In a row.")),
                (
                    "running",
                    models.CharField(
                        blank=True,
                        help_text="The client_id of the last prompt, while nobody knows yet how its turn ends.",
                        max_length=64,
                    ),
                ),
                (
                    "problem",
                    models.TextField(
                        blank=True,
                        help_text="Why the last one was not answered, in words; empty: it was.",
                    ),
                ),
                (
                    "last_at",
                    models.DateTimeField(blank=True, help_text="When it was sent last.", null=True),
                ),
                (
                    "missed_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="The last time that nobody was there for and that was too long ago.",
                        null=True,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scheduled_prompts",
                        to="chat.conversation",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_at__isnull", False), ("pause", "")),
                        fields=["next_at"],
                        name="scheduled_due",
                    ),
                    models.Index(
                        condition=models.Q(("running", ""), _negated=True),
                        fields=["running"],
                        name="scheduled_running",
                    ),
                ],
            },
        ),
    ]
