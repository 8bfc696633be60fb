"""Every page's address. Each app owns the paths below its own name."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("workbench.web.urls")),
    path("", include("workbench.catalog.urls")),
    path("", include("workbench.topologies.urls")),
    path("", include("workbench.datasets.urls")),
    path("", include("workbench.experiments.urls")),
    path("", include("workbench.evaluations.urls")),
    path("", include("workbench.results.urls")),
]
