"""When what a container has taken must be counted, and when it is too much."""

from pathlib import Path

import attrs
from hypothesis import given
from hypothesis import strategies as st

from actors.disk import SLACK, DiskWatch, free_of
from actors.warden import Usage

MIB = 1 << 20
LIMIT = Usage(1000 * MIB, 1000)


def free(mebibytes: int, inodes: int = 10_000) -> tuple[Usage, ...]:
    return (Usage(mebibytes * MIB, inodes),)


def watching() -> DiskWatch:
    watch = DiskWatch(LIMIT)
    watch.see(free(100_000))
    watch.begin(Usage(0, 0))
    return watch


def test_the_first_call_counts() -> None:
    """What a container found when it was opened is not known."""
    assert DiskWatch(LIMIT).due


def test_nobody_is_counted_while_the_disk_has_lost_less_than_the_limit() -> None:
    """Then one count sets it back."""
    watch = watching()
    watch.see(free(99_200))
    assert not watch.due
    watch.see(free(98_900))
    assert watch.due
    assert not watch.count(Usage(10 * MIB, 5))
    assert not watch.due


def test_what_others_give_back_hides_nothing() -> None:
    """Only losses are added up."""
    watch = watching()
    for mebibytes in (99_500, 100_000, 99_500, 100_000, 99_400):
        watch.see(free(mebibytes))
    assert watch.due


def test_inodes_count_too() -> None:
    """Small files fill a disk as well."""
    watch = watching()
    watch.see(free(100_000, 8_900))
    assert watch.due
    assert watch.count(Usage(MIB, 1_001))


def test_who_begins_over_the_limit_may_clean_up() -> None:
    """A little room is left for that, and no more."""
    watch = watching()
    watch.begin(Usage(5000 * MIB, 10))
    watch.see(free(100_000 - (SLACK.bytes // MIB)))
    assert not watch.due
    assert watch.count(Usage(5000 * MIB + SLACK.bytes + 1, 10))
    watch.begin(Usage(10 * MIB, 10))
    assert watch.allowed == LIMIT


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(-300, 300)), max_size=40))
def test_no_overrun_is_missed(steps: list[tuple[int, int]]) -> None:
    """Whatever neighbours write and remove in between: once this one is over, it is counted."""
    watch = watching()
    taken, left = 0, 100_000
    for own, others in steps:
        taken, left = taken + own, left - own - max(0, others)
        watch.see(free(left))
        left -= min(0, others)
        watch.see(free(left))
        assert watch.due or taken * MIB <= LIMIT.bytes
        if watch.due:
            watch.count(Usage(taken * MIB, 0))


def test_each_disk_is_seen_once(tmp_path: Path) -> None:
    """Folders of one disk are one; a folder that is elsewhere is none."""

    here = tmp_path
    assert len(free_of([here, here])) == 1
    assert attrs.astuple(free_of([here])[0])[0] > 0
    assert free_of([here / "no such folder"]) == ()
