from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "workbench.web"
    label = "web"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """System checks register themselves when they are imported."""
        from workbench.web import checks  # noqa: F401
