"""Settings of a project as `startproject` makes it, with an application of its own."""

import os

SECRET_KEY = "of no use"
USE_TZ = True
TIME_ZONE = "America/Chicago"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
    "django.contrib.messages", "django.contrib.postgres", "django.contrib.sites", "shop", "texts",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
                                       "django.contrib.messages.context_processors.messages"]},
}]
SITE_ID = 1
# Migrations are written while the suite runs.
MIGRATION_MODULES = {"shop": "written", "texts": "written_texts"}
DATABASES = {"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
    "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"], "PASSWORD": os.environ["PGPASSWORD"],
}}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cached"}}
