"""What gunicorn loads in every worker, after the fork, so every worker is a member."""

import os

from django.core.wsgi import get_wsgi_application

from .fleet import member

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "homepage.settings")
application = get_wsgi_application()
member()  # join now, and not with the first visitor
