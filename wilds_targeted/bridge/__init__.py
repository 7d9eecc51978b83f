"""Makes an unmodified WILDS checkout pick the registry up.

`autoload` decides whether a WILDS script is running, when torch asks (`wilds_targeted._autoload`). `imports` runs a function after a module was
imported, `hooks` holds those functions, one for each WILDS module, and `install` puts both to work. `checkout` finds
or makes a checkout, and `launch` runs its script without torch's help.
"""
