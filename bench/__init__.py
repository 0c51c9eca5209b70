"""What the plugin itself costs: figures measured side by side in one run, each beside its limit."""
