"""How policies are called in files and arguments. What a name builds is known where it is built."""

_OTHER_SPELLINGS = {"klucb": "kl-ucb"}


def policy_name(written: str) -> str:
    """Return the name of a policy in the spelling that cobandit uses; what is no name stays as it is.

    >>> policy_name("klucb"), policy_name("ucb")
    ('kl-ucb', 'ucb')
    """
    return _OTHER_SPELLINGS.get(written, written)
