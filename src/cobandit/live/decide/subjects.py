"""Subjects: who gets the same arm again, at every member of a group.

A subject's *place* is a number from 0 to 1 that its name and the group's decide, the same at every member and in every
start. It stands where the random number of a draw stands. So members with the same odds give a subject the same arm,
without a word between them. This file knows no arms.
"""

from hashlib import blake2b

from cobandit.values.chance import unit


def place_of(subject: str, salt: str) -> float:
    """Return where a subject stands among all, by the salt of its bandit: a number in [0, 1).

    >>> place_of("visitor 42", "homepage") == place_of("visitor 42", "homepage")
    True
    >>> place_of("visitor 42", "homepage") == place_of("visitor 42", "checkout")
    False
    """
    return unit(int.from_bytes(blake2b(f"{salt}\0{subject}".encode(), digest_size=8).digest(), "big"))
