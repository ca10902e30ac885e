from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("spending", "0001_initial")]

    operations = [
        migrations.RemoveIndex(model_name="modelcall", name="call_open_turn"),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(fields=["turn"], name="call_turn"),
        ),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(
                fields=["compaction"],
                condition=Q(("compaction__isnull", False)),
                name="call_compaction",
            ),
        ),
    ]
