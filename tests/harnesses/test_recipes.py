"""Images as values: the same content makes the same tag and the same bytes."""

import io
import tarfile

import attrs
import pytest

from harnesses.recipes import BASE, CA_BUNDLE, image_of, names, recipe
from stamina.errors import InputError


def test_the_base_holds_the_warden() -> None:
    """Its source is part of the context and of the digest."""
    base = recipe(BASE)

    assert {"Dockerfile", "warden/warden.c", "warden/warden.h"} <= set(base.files)
    assert base.smoke
    changed = attrs.evolve(base, files={**base.files, "warden/warden.c": b""})
    assert changed.digest != base.digest


def test_a_context_is_the_same_bytes_each_time() -> None:
    """No times, no owners; what the user adds is in it."""
    base = recipe(BASE)
    context = base.context(b"PEM")

    assert context == base.context(b"PEM")
    with tarfile.open(fileobj=io.BytesIO(context)) as archive:
        bundle = archive.extractfile(CA_BUNDLE)
        assert bundle is not None
        assert bundle.read() == b"PEM"
        assert {member.mtime for member in archive} == {0}


def test_tags_tell_what_went_in() -> None:
    """The user's part too."""
    base = recipe(BASE)

    assert base.tag(b"a") == base.tag(b"a")
    assert len({base.tag(), base.tag(b"a"), base.tag(b"a", b"b"), base.tag(b"ab")}) == 4
    assert base.tag().startswith("stamina/base:")


def test_harnesses_run_in_the_base_unless_they_have_their_own() -> None:
    """And unknown images are refused with those that there are."""
    assert image_of("reference") == BASE
    assert names()[0] == BASE
    with pytest.raises(InputError, match='no image "bass"; there are base'):
        recipe("bass")
