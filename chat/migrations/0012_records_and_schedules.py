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
    ]
