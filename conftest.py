"""Tests of the plugin run it in inner sessions."""

pytest_plugins = ["pytester"]
