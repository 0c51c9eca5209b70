"""Tests of the plugin run it in inner sessions; hypothesis draws the same examples everywhere.

The performance suite needs neither: it runs where only the extra `cpu` is installed.
"""

import contextlib

pytest_plugins = ["pytester"]

with contextlib.suppress(ImportError):
    from hypothesis import settings

    # A busy machine must not fail a property, and a red run must be red again.
    settings.register_profile("project", deadline=None, derandomize=True)
    settings.load_profile("project")
