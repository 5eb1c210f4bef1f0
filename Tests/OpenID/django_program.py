"""A program with Django and mozilla-django-oidc, as its documentation has it: `django_program.py PORT SETTINGS`, where the
settings are JSON with `issuer`, `clientID`, `clientSecret` and `database`."""

import json
import sys

import django
from django.conf import settings
from django.http import JsonResponse
from django.shortcuts import redirect

port, given = int(sys.argv[1]), json.loads(sys.argv[2])
settings.configure(
    SECRET_KEY="of a test", ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": given["database"]}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
                    "mozilla_django_oidc"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware"],
    AUTHENTICATION_BACKENDS=["mozilla_django_oidc.auth.OIDCAuthenticationBackend"],
    LOGIN_REDIRECT_URL="/", LOGIN_REDIRECT_URL_FAILURE="/failed",
    OIDC_RP_CLIENT_ID=given["clientID"], OIDC_RP_CLIENT_SECRET=given["clientSecret"], OIDC_RP_SIGN_ALGO="RS256",
    OIDC_RP_SCOPES="openid email profile", OIDC_USE_PKCE=True, OIDC_STORE_ID_TOKEN=True,
    OIDC_OP_AUTHORIZATION_ENDPOINT=given["issuer"] + "/oidc/authorize",
    OIDC_OP_TOKEN_ENDPOINT=given["issuer"] + "/oidc/token", OIDC_OP_USER_ENDPOINT=given["issuer"] + "/oidc/userinfo",
    OIDC_OP_JWKS_ENDPOINT=given["issuer"] + "/.well-known/jwks.json")
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
