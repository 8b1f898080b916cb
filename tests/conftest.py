"""Properties are tried on the same examples in every run, and no example is judged by a clock."""

from hypothesis import HealthCheck, settings

settings.register_profile("tacit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")
