from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "workbench.experiments"
    label = "experiments"
    default_auto_field = "django.db.models.BigAutoField"
