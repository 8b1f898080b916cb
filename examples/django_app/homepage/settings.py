"""As few settings as Django can do with."""

import os

SECRET_KEY = os.environ.get("SHOP_SECRET", "")
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "homepage.views"
USE_TZ = True
