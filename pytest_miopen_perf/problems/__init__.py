"""Commands, keys and files that name convolution problems."""
