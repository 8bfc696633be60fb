from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    name = "workbench.evaluations"
    label = "evaluations"
    default_auto_field = "django.db.models.BigAutoField"
