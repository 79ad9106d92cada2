"""The environment of whoever runs the tests, as far as it must not decide about them: proxies, certificates, keys, colours, widths of terminals."""

from __future__ import annotations

import os
from typing import Final

OUTSIDE: Final = dict(os.environ)
"""As it was, for the few tests that install something."""

_NAMES: Final = {
    *(f"{scheme}_PROXY" for scheme in ("HTTP", "HTTPS", "FTP", "ALL", "NO")),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
    *("PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONIOENCODING", "STAMINA_DEBUG"),
}
_PREFIXES: Final = ("AWS_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "LITELLM_")


def shut_out() -> None:
    """Take it out of this process, and so out of those that it starts. Amazon's files of keys are not read either."""
    for name in OUTSIDE:
        if name.upper() in _NAMES or name.upper().startswith(_PREFIXES):
            os.environ.pop(name, None)
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
