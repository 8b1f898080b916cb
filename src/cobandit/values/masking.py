"""Texts that people see, without the passwords that addresses may contain."""

import re

_USER = re.compile(r"(?<=://).*@|^(?!.*://)[^\s'\"]*@", re.DOTALL)
"""A password may contain anything, so everything up to the last `@` is hidden."""


def masked(text: str) -> str:
    """Return a text, or an address, without the user and password before an `@`.

    >>> masked("nats://ann:p@ss@host:4222"), masked("ann:pass@host:4222"), masked("nats://host:4222")
    ('nats://***@host:4222', '***@host:4222', 'nats://host:4222')
    """
    return _USER.sub("***@", text)
