# SPDX-License-Identifier: BSD-3-Clause
"""The files of a result; each appears whole or not at all.

    DIR/index.html       the page
    DIR/results.json     everything, for programs and for `flashemu-lab report`
    DIR/results.csv      the rows
    DIR/experiment.toml  the experiment, to change and to run
    DIR/figure-NN.svg    each picture; figure-NN.png, too, if rsvg-convert is installed
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from ..core.errors import LabError
from ..core.files import make_folder, write_whole
from ..experiment.conclusion import result
from ..experiment.table import Table, to_csv
from . import svg
from .figures import draw
from .page import page


def write_folder(table: Table, folder: Path) -> None:
    """Writes all files of a result; the folder is made if it is not there.  results.json comes
    first: it says whose the others are."""
    make_folder(folder)
    try:
        for old in folder.iterdir():
            if re.fullmatch(r"figure-\d+\.(svg|png)", old.name):
                old.unlink()
    except OSError as e:
        raise LabError(f"{folder}: {e.strerror}") from None
    write_whole(folder / "results.json", result(table))
    write_whole(folder / "experiment.toml", table.experiment.text)
    write_whole(folder / "results.csv", to_csv(table))
    converter = shutil.which("rsvg-convert")
    for i, drawn in enumerate(draw(table), 1):
        path = folder / f"figure-{i:02}.svg"
        write_whole(path, svg.alone(drawn.picture))
        if converter:
            done = subprocess.run([converter, "--zoom", "2", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                write_whole(path.with_suffix(".png"), done.stdout)
    write_whole(folder / "index.html", page(table))


def read_result(folder: Path) -> tuple[str, str]:
    """The text of results.json in a folder that -o has made, and its path for messages."""
    path = folder / "results.json"
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except OSError as e:
        raise LabError(f"{path}: {e.strerror}; allowed: a folder that -o has made") from None
    except UnicodeDecodeError:
        raise LabError(f"{path}: is not a result of flashemu-lab") from None
