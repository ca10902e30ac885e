from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0010_doors'),
    ]

    operations = [
        # Directly, as in 0010: Django would build the table anew on SQLite.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE chat_queuedprompt "
                    "ADD COLUMN command varchar(10) DEFAULT '' NOT NULL",
                    "ALTER TABLE chat_queuedprompt DROP COLUMN command",
                )
            ],
            state_operations=[
                migrations.AddField(
                    model_name='queuedprompt',
                    name='command',
                    field=models.CharField(blank=True, choices=[('compact', 'Compact')], db_default='', default='', max_length=10),
                ),
            ],
        ),
    ]
