"""Makes an unmodified WILDS checkout pick the registry up.

`autoload` decides, when torch asks (`wilds_targeted._autoload`), whether a WILDS script is running. `imports` runs a
function around the import of a module, `hooks` holds those functions, one for each WILDS module, and `install` puts
both to work. `parser` adds the options. `checkout` finds or makes a checkout, and `launch` runs its script without
torch's help.
"""
