"""One file of predictions: what it may hold, and what is said of anything else."""

from __future__ import annotations

import re
from ast import literal_eval
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.leaderboard.predictions import read_predictions


@pytest.mark.parametrize("text", ["0\n2\n1\n", "0\r\n2\r\n1\r\n", "0\n2\n1", "0\r\n2\r\n1\r"])
def test_labels_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes(text.encode())
    found = read_predictions(path, 3, 3)
    assert found.labels.tolist() == [0, 2, 1]
    assert found.content == text.encode()


BROKEN = [
    ("0\n1\n", " is cut off: 2 lines, and the split has 3 examples"),
    ("", " is cut off: 0 lines, and the split has 3 examples"),
    ("0\n1\n2\n0\n", " has lines too many: 4 lines, and the split has 3 examples"),
    ("label\n0\n1\n2\n", ", line 1, is a header ('label')"),
    ("0\n1\n3\n", ", line 3: the label 3 is out of range, the classes are 0 to 2"),
    ("0\n-1\n2\n", ", line 2, is '-1', not a whole number from 0"),
    ("0\n1.0\n2\n", ", line 2, is '1.0', not a whole number from 0"),
    ("nan\n1\n2\n", ", line 1, is 'nan', not a whole number from 0"),
    ("0\n01\n2\n", ", line 2, is '01', not a whole number from 0"),
    ("0\n1 \n2\n", ", line 2, has spaces or invisible marks beside its label ('1 ')"),
    ("\ufeff0\n1\n2\n", r", line 1, has spaces or invisible marks beside its label ('\ufeff0')"),
    ("0\r1\r2\r", r", line 1, is '0\r1\r2', not a whole number from 0"),
    ("0\n1_0\n2\n", ", line 2, is '1_0', not a whole number from 0"),
    ("0\n\u0661\n2\n", ", line 2, is '\u0661', not a whole number from 0"),
    ("0,0.3,0.7\n", ", line 1, has several values ('0,0.3,0.7')"),
    ("0\n\n2\n", ", line 2, is empty"),
    ("0\n1\n2\n\n", ", line 4, is empty"),
    ("0\n__import__('os').abort()\n2\n", ", line 2, is \"__import__('os').abort()\", not a whole number from 0"),
    ("0\n1\x00\n2\n", ", line 2, is no text but binary data"),
    ("0\n" + "9" * 5000 + "\n2\n", f", line 2, is '{'9' * 39}…', not a whole number from 0"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN, ids=[said[:40] for _, said in BROKEN])
def test_anything_else_is_refused_in_a_line_that_tells_where(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes(text.encode())
    with pytest.raises(DataError) as error:
        read_predictions(path, 3, 3)
    assert str(error.value).startswith(f"{path}{said}; ")
    assert "\n" not in str(error.value)


def test_bytes_that_are_no_text_are_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes(b"PK\x03\x04\xff\xfe\n1\n2\n")
    with pytest.raises(DataError, match="line 1, is no text but binary data"):
        read_predictions(path, 3, 3)
    with pytest.raises(DataError, match=re.escape(f"{tmp_path} can't be read (Is a directory)")):
        read_predictions(tmp_path, 3, 3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="01239.,-+_ x\n\r\t\x00", max_size=12))
def test_what_is_taken_is_what_the_leaderboards_script_reads(tmp_path: Path, text: str) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes(text.encode())
    size = text.count("\n") + (not text.endswith("\n") and text != "")
    try:
        labels = read_predictions(path, size, 4).labels.tolist()
    except DataError:
        return
    with path.open() as file:  # as evaluate.py does it
        assert labels == [literal_eval(line.rstrip()) for line in file if line.rstrip()]
