from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_doors'),
    ]

    operations = [
        migrations.AddField(
            model_name='pushsubscription',
            name='session_key',
            field=models.CharField(db_default='', default='', help_text='Of the session in which the browser asked: it is told as long as that lasts.', max_length=40),
        ),
    ]
