from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "workbench.catalog"
    label = "catalog"
    default_auto_field = "django.db.models.BigAutoField"
