# SPDX-License-Identifier: Apache-2.0
"""Addresses of tables (postgresql://, s3://, https://, ...): which part of one may be shown, and which is nobody's business.

Passwords, tokens and signatures appear in no message, no Table, and so in no result, report or manifest. What cannot be taken apart for
sure is refused without being repeated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from divulge.errors import BadInput

POSTGRES = ("postgresql", "postgres")
_SECRET_OPTIONS = ("password", "sslpassword", "passfile", "oauth_client_secret")
"""Of a PostgreSQL URL; of any other, everything after the question mark is taken for a secret."""
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")
_HOSTS = re.compile(r"[^:@/]*(:\d*)?|\[[0-9a-fA-F:.]*\](:\d*)?")


@dataclass(frozen=True)
class Address:
    """The parts of a URL that may be shown, and those that must not."""

    scheme: str
    shown: str
    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    """Every spelling of what must not be shown, the longest first."""

    @classmethod
    def of(cls, source: str) -> Address | None:
        """The address that a source is; None where it is none."""
        if not (found := _SCHEME.match(source)):
            return None
        scheme = found[1].lower()
        try:
            parts = urlsplit(source)
        except ValueError:
            raise _unreadable(scheme) from None
        login, at, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        rest = parts.path + parts.fragment
        # A password with / or ? in it ends the host too early, and what is left of it would be shown as a part of the path.
        doubtful = "@" in rest if scheme in POSTGRES else not at and ":" in hosts and "@" in rest + parts.query
        if doubtful or not all(map(_HOSTS.fullmatch, hosts.split(","))):
            raise _unreadable(scheme)
        named = f"{unquote(user)}@" if user and scheme in POSTGRES else ""
        asked = [value for key, value in parse_qsl(parts.query) if scheme not in POSTGRES or key in _SECRET_OPTIONS]
        secrets = [password, *asked, *([] if named else [user])]
        spellings = {spelling for secret in secrets for spelling in (secret, unquote(secret)) if spelling}
        shown = f"{'postgresql' if scheme in POSTGRES else scheme}://{named}{hosts}{parts.path}"
        return cls(scheme, shown, source, tuple(sorted(spellings, key=len, reverse=True)))

    def redact(self, text: str) -> str:
        """The text with the address as it may be shown, and every secret struck out."""
        text = text.replace(self.url, self.shown)
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _unreadable(scheme: str) -> BadInput:
    return BadInput(
        f"the {scheme}:// address cannot be taken apart, so it is not repeated here",
        hint="Write %-codes for / @ : ? # in the password",
    )
