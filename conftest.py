"""Tests of the plugin run it in inner sessions; hypothesis draws the same examples everywhere."""

from hypothesis import settings

pytest_plugins = ["pytester"]

# A busy machine must not fail a property, and a red run must be red again.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
