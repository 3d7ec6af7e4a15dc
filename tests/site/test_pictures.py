"""The pictures of levels.md: what they show is what the package does."""

import numpy as np
import pictures
import pytest


@pytest.mark.parametrize("method", pictures.METHOD_TITLES)
def test_every_document_is_judged_once_and_units_come_together(method):
    when = pictures.order_of(method)
    assert when.shape == (pictures.N_QUERIES, pictures.N_RANKS)
    sizes = np.bincount(when.ravel())[1:]
    assert sizes.sum() == when.size
    ends = np.flatnonzero(sizes) + 1
    assert ends.tolist() == np.cumsum(sizes[sizes > 0]).tolist()  # each unit's number is how many are judged with it
    if method == "whole":
        assert (when == when[:, :1]).all()
    if method == "depth":
        assert (np.diff(when, axis=1) >= 0).all()
    if method == "items":
        assert sizes.max() == 1


def test_the_uncertain_come_first_in_the_picture():
    judged = [pictures.order_of(method) <= pictures.BUDGET for method in pictures.METHOD_TITLES]
    assert all(rows[:3].sum() > rows[3:].sum() for rows in judged)


def test_blocks_are_quarters_of_the_budget():
    assert [pictures.block_of(when) for when in (1, 3, 4, 12, 13)] == [0, 0, 1, 3, None]


def test_it_is_drawn(tmp_path):
    pictures.draw(tmp_path / "levels.png")
    assert (tmp_path / "levels.png").read_bytes()[:4] == b"\x89PNG"
