"""Settings, all from the process environment, with defaults that run after a clone. `.env.example` names them all."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from workbench import home
from workbench.engine.errors import WorkbenchError
from workbench.engine.throttle import Rate, read_rates

BASE_DIR = Path(__file__).resolve().parent.parent
WORKBENCH_HOME = home.home_path()

DEBUG = os.environ.get("WORKBENCH_DEBUG") == "1"
ALLOWED_HOSTS = [host for host in os.environ.get("WORKBENCH_HOSTS", "localhost,127.0.0.1,[::1]").split(",") if host]


try:
    SECRET_KEY = home.secret_key(WORKBENCH_HOME)
except WorkbenchError as error:
    raise ImproperlyConfigured(str(error)) from error

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "workbench.web",
    "workbench.catalog",
    "workbench.topologies",
    "workbench.datasets",
    "workbench.experiments",
    "workbench.evaluations",
    "workbench.results",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "workbench.web.middleware.ContentPolicy",
    "workbench.web.middleware.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "workbench.web.middleware.Sentences",
]

ROOT_URLCONF = "workbench.urls"
ASGI_APPLICATION = "workbench.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "workbench.web.context.theme",
            ],
        },
    },
]


def database(url: str) -> dict[str, object]:
    """SQLite in the home, or PostgreSQL where `DATABASE_URL` names one (`postgresql://user:password@host:port/name`)."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": WORKBENCH_HOME / "workbench.sqlite3",
            "TEST": {"NAME": WORKBENCH_HOME / "test.sqlite3"},  # a file, as in life: threads and processes share it
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql") or not parts.path.strip("/"):
        raise ImproperlyConfigured("DATABASE_URL must read postgresql://USER:PASSWORD@HOST:PORT/NAME.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 5},
    }


DATABASES = {"default": database(os.environ.get("DATABASE_URL", ""))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en-gb"
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # files come straight from the apps: there is nothing to collect
WHITENOISE_ALLOW_ALL_ORIGINS = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 20 * 1024 * 1024

REDIS_URL = os.environ.get("REDIS_URL", "")
BROKER_SOCKET = home.broker_socket(WORKBENCH_HOME)
CELERY_BROKER_URL = REDIS_URL or f"redis+socket://{BROKER_SOCKET}?virtual_host=0"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 86400}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_DEFAULT_QUEUE = "runs"
CELERY_TASK_ROUTES = {"workbench.evaluations.*": {"queue": "evaluations"}}


def number(name: str, default: float) -> float:
    """A setting that is a number above zero."""
    given = os.environ.get(name, "")
    try:
        value = float(given or default)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise ImproperlyConfigured(f"{name} is {given!r}, which is no number above zero. Unset it to have {default}.")
    return value


def rates(name: str) -> dict[str, Rate]:
    """What each provider gets."""
    try:
        return read_rates(os.environ.get(name, ""))
    except WorkbenchError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


TOPOLOGY_REPOSITORY = Path(os.environ.get("TOPOLOGY_REPOSITORY") or WORKBENCH_HOME / "topologies")
WORKSPACES = WORKBENCH_HOME / "workspaces"
RUNS_AT_ONCE = int(number("WORKBENCH_RUNS_AT_ONCE", 64))
RUN_PROCESSES = int(number("WORKBENCH_RUN_PROCESSES", 2))  # the runs at once are shared out among them
RUN_STALE_S = number("WORKBENCH_RUN_STALE_S", 20)  # no heartbeat for so long: its worker is gone
RUN_ORPHAN_S = number("WORKBENCH_RUN_ORPHAN_S", 10)  # queued for so long with an empty queue: no ticket
RUN_DRAIN_S = number("WORKBENCH_RUN_DRAIN_S", 3)  # what a warm shutdown gives the runs to end
WORKSPACE_MB = number("WORKBENCH_WORKSPACE_MB", 200)  # what the files of one run may take
WORKSPACE_FILES = int(number("WORKBENCH_WORKSPACE_FILES", 20_000))
PROVIDER_LIMITS = rates("WORKBENCH_PROVIDER_LIMITS")

CELERY_BEAT_SCHEDULE = {
    "runs-sweep": {
        "task": "workbench.experiments.tasks.runs_sweep_task",
        "schedule": 5.0,
        "options": {"expires": 5, "queue": "evaluations"},  # in its own queue it would wait behind runs that wait
    },
    "evaluations-sweep": {
        "task": "workbench.evaluations.tasks.evaluations_sweep_task",
        "schedule": 15.0,
        "options": {"expires": 15},
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"django": {"handlers": [], "level": "INFO", "propagate": True}},
}
