# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL URL taken apart, so that it can be shown without its password."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from divulge.errors import BadInput

SCHEMES = ("postgresql", "postgres")
_HOSTS = re.compile(r"[^:@/]*(:\d*)?|\[[0-9a-fA-F:.]*\](:\d*)?")
_SECRET_OPTIONS = ("password", "sslpassword", "passfile", "oauth_client_secret")


@dataclass(frozen=True)
class PostgresUrl:
    """The parts of a URL that may be shown, and those that must not."""

    shown: str
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return f"PostgresUrl({self.shown})"

    @classmethod
    def parse(cls, address: str) -> PostgresUrl:
        """Take a URL apart; one that cannot be taken apart for sure is refused without being repeated."""
        parts = urlsplit(address)
        login, _, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        clear = all(_HOSTS.fullmatch(host) for host in hosts.split(",")) and "@" not in parts.path + parts.fragment
        if not clear:
            raise BadInput(
                "the PostgreSQL URL cannot be read",
                hint="Write postgresql://user:password@host:port/database, with %-codes for / @ : ? # in the password",
            )
        secrets = [password, *(value for key, value in parse_qsl(parts.query) if key in _SECRET_OPTIONS)]
        shown = f"postgresql://{unquote(user)}{'@' if user else ''}{hosts}{parts.path}"
        spellings = {spelling for secret in secrets for spelling in (secret, unquote(secret)) if spelling}
        return cls(shown, tuple(sorted(spellings, key=len, reverse=True)))

    def redact(self, text: str) -> str:
        """The text with every secret struck out."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text
