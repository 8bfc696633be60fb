"""Addresses below /agents/ and /models/. No agent's name begins with an underscore, so `_new` is free."""

from __future__ import annotations

from django.urls import path

from workbench.catalog import model_views, views

urlpatterns = [
    path("agents/", views.agent_list, name="agent_list"),
    path("agents/_new/", views.agent_create, name="agent_create"),
    path("agents/<str:name>/", views.agent_detail, name="agent_detail"),
    path("agents/<str:name>/edit/", views.agent_edit, name="agent_edit"),
    path("agents/<str:name>/versions/<int:number>/", views.agent_version, name="agent_version"),
    path("models/", model_views.model_list, name="model_list"),
]
