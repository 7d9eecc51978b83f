"""The built-in plugins: thin modules that register what the other packages hold.

Each module here is loaded as one plugin, through the same hooks as anybody's.
"""
