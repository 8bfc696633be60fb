"""Addresses of questions to people."""

from __future__ import annotations

from django.urls import URLPattern, path

from workbench.experiments import questions_views as views

urlpatterns: list[URLPattern] = [
    path("questions/", views.question_list, name="question_list"),
    path("questions/count/", views.question_count, name="question_count"),
    path("questions/<int:pk>/", views.question_detail, name="question_detail"),
    path("questions/<int:pk>/answer/", views.question_post, name="question_answer"),
    path("runs/<int:pk>/questions/", views.run_questions, name="run_questions"),
    path("api/questions/", views.questions_api, name="questions_api"),
    path("api/questions/<int:pk>/answer/", views.answer_api, name="answer_api"),
]
