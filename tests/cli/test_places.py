"""What is refused before anything is made."""

import pytest

from harnesses.registry import HARNESSES
from stamina.cli.places import check_versions
from stamina.config.load import parse
from stamina.config.plan import plan
from stamina.errors import InputError

SWEEP = """
[sweep]
name = "x"
seeds = "1"
[[agent]]
harness = "codex"
model = "m"
{version}
[sandbox]
{image}
[model.m]
provider = "scripted"
id = "x"
context_window = 9000
"""


def checked(version: str = "", image: str = "") -> None:
    check_versions(plan(parse(SWEEP.format(version=version, image=image), "x.toml", harnesses=HARNESSES)))


def test_a_version_that_our_image_does_not_have_is_refused_with_a_way_out() -> None:
    """An image of one's own is asked in the sandbox."""
    with pytest.raises(
        InputError, match=r'codex-0\.1-m: version = "0\.1", but our image for codex has \d+\.\d+\.\d+, which .* image that has 0\.1 in \[sandbox\] image'
    ):
        checked('version = "0.1"')
    checked('version = "0.1"', 'image = "mine"')
    checked()
