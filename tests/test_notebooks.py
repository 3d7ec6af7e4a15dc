"""Every notebook runs from top to bottom, on the real data where they are at hand, else on the generated pool.

Where a notebook says something else than what is stored in it, the end of the run names the cell: `make notebooks`.
``python tests/test_notebooks.py [NAME…]`` stores what they say now, on the real data, with pictures of few colours.
"""

import base64
import io
import os
import re
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("ACTIVEEVAL_SHARED") or ROOT.parent / "shared").resolve()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ON_BOTH = ("01_quickstart", "10_graders")
"""Notebooks that run on the generated pool even where the real data are: one of each data set."""
LARGEST = 500_000
COLOURS = 64
"""Of a stored picture: looked at beside the original, no line or letter differs, at a third of the bytes."""
CHANGING = re.compile(
    r"\d+(\.\d+)? (s|seconds|minutes)\b|0x[0-9a-f]+|\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*|\b[0-9a-f]{32,}\b|\b[a-z]{26,}\b"
)
"""What no two runs say alike."""

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def runs():
    """Yield each notebook with its data: two of them run on both."""
    for path in NOTEBOOKS:
        if SHARED.is_dir():
            yield pytest.param(path, "real data", id=f"{path.stem}, real data")
        if not SHARED.is_dir() or path.stem in ON_BOTH:
            yield pytest.param(path, "generated pool", id=f"{path.stem}, generated pool")


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} > set(ON_BOTH)


@pytest.mark.parametrize(("path", "source"), list(runs()))
def test_runs(path, source, tmp_path, monkeypatch, record_property):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install -e '.[dev]'")
    pytest.importorskip("nbclient", reason="nbclient is not installed: pip install -e '.[dev]'")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install -e '.[dev]'")
    monkeypatch.setenv("ACTIVEEVAL_SHARED", str(SHARED if source == "real data" else tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = executed(path)
    assert any("generated pool" in text for text in printed(notebook)) == (source == "generated pool")
    if source == "real data":
        for place in differing(nbformat.read(path, as_version=4), notebook):
            record_property("differs", f"notebooks/{path.name}, cell {place}: not what is stored")


def executed(path):
    """Return a notebook with what its cells say now."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=PATIENCE_S, kernel_name="python3", resources=here).execute()
    return notebook


def differing(stored, now):
    """Return which cells of code, from 1, say another text in one notebook than in the other."""
    cells = [[cell for cell in notebook.cells if cell.cell_type == "code"] for notebook in (stored, now)]
    said = [["".join(map(text_of, cell.outputs)) for cell in of_one] for of_one in cells]
    return [place for place, (one, other) in enumerate(zip(*said, strict=True), 1) if one != other]


def text_of(output):
    """Return the text of an output, without what changes from run to run."""
    return CHANGING.sub("…", output.get("text") or output.get("data", {}).get("text/plain", ""))


def test_a_cell_that_says_something_else_is_named():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install -e '.[dev]'")
    made = nbformat.v4

    def notebook(*texts):
        outputs = [[made.new_output("stream", text=text)] for text in texts]
        return made.new_notebook(cells=[made.new_code_cell("x", outputs=each) for each in outputs])

    stored = notebook("± 0.2", "took 3.1 s", "the same")
    assert differing(stored, notebook("± 0.3", "took 9 s", "the same")) == [1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_stored_executed_and_small(path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install -e '.[dev]'")
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata.kernelspec.name == "python3"
    assert path.stat().st_size < LARGEST
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output.output_type == "error" for output in outputs)


def printed(notebook):
    return [
        output.text
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream"
    ]


def in_few_colours(picture):
    """Return a PNG, in base 64 as notebooks hold it, with a palette."""
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        held = io.BytesIO()
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(held, "PNG", optimize=True)
    return base64.b64encode(held.getvalue()).decode()


if __name__ == "__main__":
    import nbformat

    os.environ.setdefault("ACTIVEEVAL_SHARED", str(SHARED))
    for path in NOTEBOOKS:
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            notebook = executed(path)
            for cell in notebook.cells:
                cell.metadata.pop("execution", None)
                for output in cell.get("outputs", []):
                    if "image/png" in output.get("data", {}):
                        output.data["image/png"] = in_few_colours(output.data["image/png"])
            nbformat.write(notebook, path)
            print(path.stem)
