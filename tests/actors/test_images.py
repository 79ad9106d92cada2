"""Building images: what a build that fails says."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from actors.docker import Image
from actors.images import DEFAULT_BASE, BuildOptions, build
from harnesses.recipes import BASE, recipe
from stamina.errors import SandboxFault


class Distrustful:
    """An engine with a base image, whose builds meet a certificate that nobody knows."""

    async def image(self, ref: str) -> Image | None:
        return Image("sha256:0", (ref,), "amd64", {}, (), "", 1) if ref == DEFAULT_BASE else None

    async def build(self, *args: object, **options: Any) -> AsyncIterator[str]:
        for line in ("step 1", "SSLCertVerificationError: certificate verify failed", "no matching distribution"):
            yield line
        raise SandboxFault("cannot build")


@pytest.mark.parametrize(("bundle", "advised"), [(b"", True), (b"-----BEGIN CERTIFICATE-----", False)])
async def test_a_certificate_that_nobody_knows_calls_for_a_bundle(bundle: bytes, *, advised: bool) -> None:
    """Unless one was given: then it is the wrong one, and the builder's words tell more."""
    args: Mapping[str, str] = {}
    with pytest.raises(SandboxFault, match="certificate verify failed") as failed:
        await build(Distrustful(), recipe(BASE), BuildOptions(DEFAULT_BASE, bundle, args), lambda line: None)  # type: ignore[arg-type]
    assert ("--ca-bundle FILE" in str(failed.value)) == advised
