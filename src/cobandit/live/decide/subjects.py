"""Subjects: a subject gets the same arm again, at every member of a group.

A subject's *place* is a number from 0 to 1 that depends only on its name and the group's, so it is the same at every
member and after every restart. It replaces the random number of a draw. So members with the same odds give a subject
the same arm without communicating. This file knows no arms.
"""

from hashlib import blake2b

from cobandit.values.chance import unit


def place_of(subject: str, salt: str) -> float:
    """Return a subject's place, a number in [0, 1), for the salt of its bandit.

    >>> place_of("visitor 42", "homepage") == place_of("visitor 42", "homepage")
    True
    >>> place_of("visitor 42", "homepage") == place_of("visitor 42", "checkout")
    False
    """
    return unit(int.from_bytes(blake2b(f"{salt}\0{subject}".encode(), digest_size=8).digest(), "big"))
