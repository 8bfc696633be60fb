from __future__ import annotations

from django.urls import path

from workbench.datasets import views

urlpatterns = [
    path("datasets/", views.dataset_list, name="dataset_list"),
    path("datasets/import/", views.dataset_import, name="dataset_import"),
    path("datasets/<slug:name>/", views.dataset_detail, name="dataset_detail"),
    path("datasets/<slug:name>/<int:number>/<path:key>/", views.instance_detail, name="instance_detail"),
]
