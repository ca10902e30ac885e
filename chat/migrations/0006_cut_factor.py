from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0005_times")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="cut_factor",
            field=models.FloatField(
                db_default=0.0,
                default=0.0,
                help_text="The token factor by which it was decided how much of it is sent; "
                "0: not yet.",
            ),
        ),
    ]
