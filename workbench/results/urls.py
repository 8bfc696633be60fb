from __future__ import annotations

from django.urls import URLPattern, path

from workbench.results import home, views

urlpatterns: list[URLPattern] = [
    path("", home.home, name="home"),
    path("home/providers/", home.home_providers, name="home_providers"),
    path("experiments/<int:pk>/results/", views.results_detail, name="results_detail"),
    path("experiments/<int:pk>/results/chart.svg", views.results_chart, name="results_chart"),
    path("experiments/<int:pk>/results/table.csv", views.results_csv, name="results_csv"),
    path("experiments/<int:pk>/results/table.json", views.results_json, name="results_json"),
    path("experiments/<int:pk>/compare/", views.results_compare, name="results_compare"),
]
