"""Addresses below /topologies/. No topology's name begins with an underscore, so `_new` and `_export` are free."""

from __future__ import annotations

from django.urls import path

from workbench.topologies import edit_tools, edit_views, views

urlpatterns = [
    path("topologies/", views.topology_list, name="topology_list"),
    path("topologies/_new/", views.topology_create, name="topology_create"),
    path("topologies/_export/", views.topology_export, name="topology_export"),
    path("topologies/<str:name>/", views.topology_detail, name="topology_detail"),
    path("topologies/<str:name>/edit/", edit_views.topology_edit, name="topology_edit"),
    path("topologies/<str:name>/edit/state/", edit_views.edit_state, name="topology_edit_state"),
    path("topologies/<str:name>/edit/commands/", edit_views.edit_commands, name="topology_edit_commands"),
    path("topologies/<str:name>/edit/form/", edit_views.edit_form, name="topology_edit_form"),
    path("topologies/<str:name>/edit/part/<str:part>/", edit_views.edit_part, name="topology_edit_part"),
    path("topologies/<str:name>/edit/commit/", edit_views.edit_commit, name="topology_edit_commit"),
    path("topologies/<str:name>/edit/merge/", edit_views.edit_merge, name="topology_edit_merge"),
    path("topologies/<str:name>/edit/discard/", edit_views.edit_discard, name="topology_edit_discard"),
    path("topologies/<str:name>/edit/dry-run/", edit_tools.edit_dry_run, name="topology_edit_dry_run"),
    path("topologies/<str:name>/edit/models/", edit_tools.edit_models, name="topology_edit_models"),
    path("topologies/<str:name>/edit/fragment/", edit_tools.edit_fragment, name="topology_edit_fragment"),
    path("topologies/<str:name>/edit/condition/", edit_tools.edit_condition, name="topology_edit_condition"),
    path("topologies/<str:name>/edit/preview/", edit_tools.edit_preview, name="topology_edit_preview"),
    path("topologies/<str:name>/use/", views.topology_use, name="topology_use"),
    path("topologies/<str:name>/picture.svg", views.topology_picture, name="topology_picture"),
    path("topologies/<str:name>/history/", views.topology_history, name="topology_history"),
    path("topologies/<str:name>/versions/<str:commit>/", views.topology_version, name="topology_version"),
    path("topologies/<str:name>/restore/", views.topology_restore, name="topology_restore"),
    path("topologies/<str:name>/delete/", views.topology_delete, name="topology_delete"),
    path("agents/<str:name>/topologies/", views.agent_topologies, name="agent_topologies"),
]
