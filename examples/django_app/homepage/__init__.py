"""A Django page in three variants. Its workers learn together which one is clicked: see docs/guides/django.md."""
