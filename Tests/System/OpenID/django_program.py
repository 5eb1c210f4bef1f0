"""A program with Django and the settings of docs/clients/django.md: `django_program.py PORT DATABASE RECIPE`."""

import os
import sys

import django
from django.conf import settings
from django.http import JsonResponse
from django.shortcuts import redirect

port, database, recipe = int(sys.argv[1]), sys.argv[2], sys.argv[3]
# The page's own lines.
found = {"INSTALLED_APPS": ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"], "os": os}
exec(recipe, found)
settings.configure(
    SECRET_KEY="of a test", ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": database}},
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware"],
    LOGIN_REDIRECT_URL="/", LOGIN_REDIRECT_URL_FAILURE="/failed", OIDC_STORE_ID_TOKEN=True,
    **{name: value for name, value in found.items() if name.isupper() and name != "BRAMLEY"})
django.setup()

from django.core.management import call_command  # noqa: E402
from django.core.servers.basehttp import WSGIServer, WSGIRequestHandler  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402


def home(request):
    if request.user.is_authenticated:
        return JsonResponse({"email": request.user.email, "name": request.user.username})
    return redirect("oidc_authentication_init")


urlpatterns = [
    path("", home), path("failed", lambda request: JsonResponse({"failed": True}, status=403)),
    path("oidc/", include("mozilla_django_oidc.urls"))]

call_command("migrate", verbosity=0)
server = WSGIServer(("127.0.0.1", port), WSGIRequestHandler)
server.set_app(get_wsgi_application())
server.serve_forever()
