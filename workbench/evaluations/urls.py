from __future__ import annotations

from django.urls import URLPattern, path

from workbench.evaluations import views

urlpatterns: list[URLPattern] = [
    path("experiments/<int:pk>/evaluations/", views.experiment_evaluations, name="experiment_evaluations"),
    path("experiments/<int:pk>/evaluate/", views.evaluation_create, name="evaluation_create"),
    path("evaluations/<int:pk>/", views.evaluation_detail, name="evaluation_detail"),
    path("runs/<int:pk>/scores/", views.run_scores, name="run_scores"),
]
