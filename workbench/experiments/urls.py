from __future__ import annotations

from django.urls import URLPattern, path

from workbench.experiments import fork_views, questions_urls, run_views, trial_views, views, workspace_urls
from workbench.experiments.live.views import run_stream
from workbench.experiments.topology_costs import topology_costs

urlpatterns: list[URLPattern] = [
    path("experiments/", views.experiment_list, name="experiment_list"),
    path("experiments/new/", views.experiment_create, name="experiment_create"),
    path("experiments/<int:pk>/", views.experiment_detail, name="experiment_detail"),
    path("experiments/<int:pk>/delete/", views.experiment_delete, name="experiment_delete"),
    path("experiments/<int:pk>/edit/", views.experiment_edit, name="experiment_edit"),
    path("experiments/<int:pk>/providers/", views.experiment_providers, name="experiment_providers"),
    path("experiments/<int:pk>/start/", views.experiment_start, name="experiment_start"),
    path("experiments/<int:pk>/stop/", views.experiment_stop, name="experiment_stop"),
    path("experiments/<int:pk>/copy/", views.experiment_copy, name="experiment_copy"),
    path("experiments/<int:pk>/resume/", views.experiment_resume, name="experiment_resume"),
    path("runs/", run_views.run_list, name="run_list"),
    path("runs/<int:pk>/", run_views.run_detail, name="run_detail"),
    path("runs/<int:pk>/events/", run_views.run_events, name="run_events"),
    path("runs/<int:pk>/events/<int:sequence>/", run_views.run_event, name="run_event"),
    path("runs/<int:pk>/visits/<str:node>/<int:visit>/", run_views.run_visit, name="run_visit"),
    path("runs/<int:pk>/stream/", run_stream, name="run_stream"),
    path("runs/<int:pk>/stop/", run_views.run_stop, name="run_stop"),
    path("runs/<int:pk>/replay/", fork_views.run_replay_page, name="run_replay"),
    path("runs/<int:pk>/visits/<str:node>/<int:visit>/fork/", fork_views.run_fork, name="run_fork"),
    path("experiments/<int:pk>/fork/", fork_views.experiment_fork, name="experiment_fork"),
    path("models/uses/", views.model_uses, name="model_uses"),
    *questions_urls.urlpatterns,
    *workspace_urls.urlpatterns,
    path("runs/costs/", topology_costs, name="topology_costs"),
    path("topologies/<str:name>/try/", trial_views.topology_trial, name="topology_trial"),
    path("topologies/<str:name>/try/<int:pk>/", trial_views.topology_trial_run, name="topology_trial_run"),
    path("topologies/<str:name>/runs/", run_views.topology_runs, name="topology_runs"),
]
