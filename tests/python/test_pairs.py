"""How the benchmarks compare two contestants whose rounds are pairs (benchmarks/pairs.py)."""

from __future__ import annotations

import operator
import os
import random
import sys
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("MAREY_SOURCE_ROOT", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "benchmarks"))

from pairs import by_round, interval, of_places  # noqa: E402
from places import environment, lay_anew  # noqa: E402


def test_rounds_are_compared_with_their_own_round() -> None:
    assert by_round([10.0, 110.0, 20.0], [8.0, 109.0, 19.0]) == [2.0, 1.0, 1.0]
    assert by_round([3.0], [2.0], operator.truediv) == [1.5]
    with pytest.raises(ValueError):
        by_round([1.0], [1.0, 2.0])


@pytest.mark.parametrize(("n", "ends"), [(1, (0, 0)), (5, (0, 4)), (6, (0, 5)), (10, (1, 8)),
                                         (20, (5, 14)), (31, (9, 21))])
def test_interval_ends_at_the_values_that_tables_of_the_sign_test_give(
        n: int, ends: tuple[int, int]) -> None:
    values = [float(i) for i in range(n)]
    random.Random(n).shuffle(values)
    assert interval(values) == ends


def test_interval_holds_the_median_as_often_as_it_says() -> None:
    """Of a spread with a long tail, as that of times."""
    draw = random.Random(7)
    held = 0
    for _ in range(2000):
        low, high = interval([draw.expovariate(1.0) for _ in range(25)])
        held += low <= 0.6931 <= high
    assert 1900 <= held <= 1970


def test_a_place_counts_once_whatever_its_rounds() -> None:
    values = [1.0, 2.0, 90.0, 7.0, 5.0, 6.0]
    assert of_places(values, 1) == values
    assert of_places(values, 2) == [2.0, 6.0]
    assert of_places(values, 3) == [1.5, 48.5, 5.5]
    with pytest.raises(ValueError, match="6 rounds are not as many at each of 4 places"):
        of_places(values, 4)


def test_a_place_has_new_pages_of_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "object.so"
    path.write_bytes(b"code")
    path.chmod(0o750)
    os.utime(path, ns=(5_000, 7_000))
    before = path.stat()
    with path.open("rb") as held:
        lay_anew([path])
        assert held.read() == b"code"
    after = path.stat()
    assert after.st_ino != before.st_ino
    assert (after.st_mtime_ns, after.st_mode, path.read_bytes()) == (7_000, before.st_mode, b"code")
    with pytest.raises(FileNotFoundError):
        lay_anew([tmp_path / "none"])
    assert [path.name for path in tmp_path.iterdir()] == ["object.so"]


def test_places_have_environments_of_other_sizes() -> None:
    sizes = {len(environment(place).pop("PADDING")) for place in range(7)}
    assert len(sizes) == 7 and max(sizes) <= 4096
    assert {k: v for k, v in environment(3).items() if k != "PADDING"} == {
        k: v for k, v in os.environ.items() if k != "PADDING"}
