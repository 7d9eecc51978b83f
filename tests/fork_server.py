"""Runs WILDS scripts in processes that already have torch and its friends.

Importing torch, torchvision and transformers takes many seconds; this process does it once and forks a child for every
script. The child has no module of `wilds` or of ours yet, and calls the very function with which torch loads its
entry points, so the bridge gets in by the same door as in a fresh process. (Some tests do start a fresh one.)

Requests arrive as lines of JSON on standard input; a line with the exit status answers each. A request may ask for its
child to be killed after some seconds.
"""

import importlib
import json
import os
import runpy
import signal
import sys
import time
import traceback

HEAVY = [
    "torch",
    "torchvision",
    "torchvision.models",
    "transformers",
    "pandas",
    "sklearn.metrics",
    "scipy",
    "PIL.Image",
    "soundfile",
    "scipy.signal",
    "matplotlib",
    "librosa.filters",
    "noisereduce",
    "open_clip",
]


def serve() -> None:
    for name in HEAVY:
        importlib.import_module(name)
    from transformers import BertTokenizerFast, DistilBertTokenizerFast  # noqa: F401  (lazy: fetched once, here)

    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run_child(json.loads(line))
        print(wait(child, json.loads(line).get("kill_after")), flush=True)


def wait(child: int, kill_after: float | None) -> int:
    if kill_after is None:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    end = time.monotonic() + kill_after
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return wait(child, None)


def run_child(request: dict) -> None:
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    status = 1
    try:
        os.chdir(request["cwd"])
        os.environ.update(request["environment"])
        sys.path[:0] = request["path"]
        importlib.invalidate_caches()
        forget("wilds", "wilds_targeted")
        status = run_script(request)
    except SystemExit as exit:
        if isinstance(exit.code, str):
            print(exit.code, file=sys.stderr)
        status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        if sys.excepthook is sys.__excepthook__:
            traceback.print_exc()
        else:
            sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:  # WILDS's logger closes standard output
                stream.flush()
        os._exit(status)


def forget(*packages: str) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] in packages:
            del sys.modules[name]


def run_script(request: dict) -> int:
    import torch

    sys.argv = request["argv"]
    if request["how"] == "command":  # the console script: `wilds-targeted …`
        from wilds_targeted.cli import main

        main()
        return 0
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))  # noqa: PTH100, PTH120
    if request["how"] == "script":  # `python run_expt.py …`, where torch loads its entry points
        torch._import_device_backends()
    elif request["how"] == "without":  # the same without our package, but for the mend without which it can't start
        from wilds_targeted.mends import mend_transformers

        mend_transformers()
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    serve()
