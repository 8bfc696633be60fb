from django.apps import AppConfig


class TopologiesConfig(AppConfig):
    name = "workbench.topologies"
    label = "topologies"
    default_auto_field = "django.db.models.BigAutoField"
