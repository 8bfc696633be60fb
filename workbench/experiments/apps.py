from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "workbench.experiments"
    label = "experiments"
    default_auto_field = "django.db.models.BigAutoField"

    def doctor(self) -> list[tuple[str, str, str]]:
        """More rows for `workbench doctor`."""
        from workbench.experiments.model_uses import doctor

        return doctor()
