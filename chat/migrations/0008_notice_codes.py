from django.db import migrations, models


class Migration(migrations.Migration):
    """A notice is a code. The sentences of before are dropped: no code can be told from them."""

    dependencies = [
        ("chat", "0007_consent"),
    ]

    operations = [
        migrations.RemoveField(model_name="turn", name="notice"),
        migrations.AddField(
            model_name="turn",
            name="notice",
            field=models.CharField(
                blank=True,
                default="",
                help_text="The code of a degraded mode: see chat.models.notices.",
                max_length=20,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="turn",
            name="notice_about",
            field=models.TextField(
                blank=True, default="", help_text="What the notice names."
            ),
            preserve_default=False,
        ),
    ]
