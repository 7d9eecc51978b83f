"""Models: networks as plain torch modules, one a file; the plugins register them."""
