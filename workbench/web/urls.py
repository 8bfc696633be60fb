from __future__ import annotations

from django.urls import path

from workbench.web import views

urlpatterns = [
    path("parts/", views.parts, name="parts"),
    path("theme/", views.theme_set, name="theme_set"),
    path("alive/", views.alive, name="alive"),
]
