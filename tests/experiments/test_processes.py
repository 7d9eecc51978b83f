"""Commands that fail: what is told of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wilds_targeted.experiments.processes import Job, JobError, Pool


def test_only_what_this_start_printed_is_told(tmp_path: Path) -> None:
    """A run that is tried again adds to the file of the earlier start."""
    (tmp_path / "output.txt").write_text("of an earlier start\n")
    job = Job("it", (sys.executable, "-c", "print('one'); print('two'); raise SystemExit(3)"), tmp_path / "output.txt")
    with Pool([{}], tmp_path) as pool:
        for _ in range(2):
            with pytest.raises(JobError, match=r"it ended with status 3; the end of .*output\.txt: one \| two$"):
                pool.submit(job).result()
    assert (tmp_path / "output.txt").read_text() == "of an earlier start\none\ntwo\none\ntwo\n"
