from __future__ import annotations

from django.urls import URLPattern, path

from workbench.experiments import workspace_views as views

urlpatterns: list[URLPattern] = [
    path("runs/<int:pk>/files/", views.run_files, name="run_files"),
    path("runs/<int:pk>/files/changes.diff", views.run_diff, name="run_diff"),
    path("runs/<int:pk>/files/<slug:version>/", views.run_file, name="run_file"),
    path("runs/<int:pk>/files/<slug:version>/raw/", views.run_file_raw, name="run_file_raw"),
    path("runs/<int:pk>/files/<slug:version>/files.zip", views.run_archive, name="run_archive"),
]
