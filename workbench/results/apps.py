from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "workbench.results"
    label = "results"
    default_auto_field = "django.db.models.BigAutoField"
