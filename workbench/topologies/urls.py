"""Addresses below /topologies/. No topology's name begins with an underscore, so `_new` and `_check` are free."""

from __future__ import annotations

from django.urls import path

from workbench.topologies import views

urlpatterns = [
    path("topologies/", views.topology_list, name="topology_list"),
    path("topologies/_new/", views.topology_create, name="topology_create"),
    path("topologies/_check/", views.topology_check, name="topology_check"),
    path("topologies/<str:name>/", views.topology_detail, name="topology_detail"),
    path("topologies/<str:name>/edit/", views.topology_edit, name="topology_edit"),
    path("topologies/<str:name>/picture.svg", views.topology_picture, name="topology_picture"),
    path("topologies/<str:name>/history/", views.topology_history, name="topology_history"),
    path("topologies/<str:name>/versions/<str:commit>/", views.topology_version, name="topology_version"),
    path("topologies/<str:name>/restore/", views.topology_restore, name="topology_restore"),
    path("topologies/<str:name>/delete/", views.topology_delete, name="topology_delete"),
    path("agents/<str:name>/topologies/", views.agent_topologies, name="agent_topologies"),
]
