"""The policies that come with cobandit: the only list of them, and how files and arguments name them."""

from collections.abc import Sequence
from dataclasses import dataclass

from cobandit.policies.aae import AAE
from cobandit.policies.base import Policy
from cobandit.policies.confidence import Confidence, checked_confidence
from cobandit.policies.confident import Confident
from cobandit.policies.drawing import Drawing
from cobandit.policies.kl_ucb import KLUCB
from cobandit.policies.normal_thompson import NormalThompson
from cobandit.policies.thompson import Thompson
from cobandit.policies.ucb import UCB
from cobandit.policies.ucb_v import UCBV
from cobandit.values.checks import check_positive, keep_plain
from cobandit.values.errors import LocalError
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import Arm

_CONFIDENT: dict[str, type[Confident]] = {"ucb": UCB, "aae": AAE, "kl-ucb": KLUCB, "ucb-v": UCBV}
THOMPSON = "thompson"
DRAWING: dict[str, type[Drawing]] = {THOMPSON: Thompson, "normal-thompson": NormalThompson}
"""The policies that draw. They have neither alpha nor a confidence."""

POLICIES = (*_CONFIDENT, *DRAWING)
"""Their names. The paper's comes first; simulations use it by default."""

_OTHER_SPELLINGS = {"klucb": "kl-ucb", "ucbv": "ucb-v"}


def policy_name(written: str) -> str:
    """Return the name of a policy in cobandit's spelling; any other text stays as it is.

    >>> policy_name("klucb"), policy_name("ucb")
    ('kl-ucb', 'ucb')
    """
    return _OTHER_SPELLINGS.get(written, written)


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """One of the policies that come with cobandit, with its parameters.

    Args:
        name: One of `POLICIES`.
        alpha: How much to explore; the policy's usual value by default. Not for policies that draw.
        confidence: How delta is set. Not for policies that draw.

    >>> BuiltIn("ucb", alpha=3.0, confidence="own")(["A", "B"], seed=1).select_arm()
    'A'
    """

    name: str
    alpha: float | None = None
    confidence: Confidence = "observed"

    def __post_init__(self) -> None:
        keep_plain(self, "alpha")
        object.__setattr__(self, "name", policy_name(self.name))  # equal policies have equal names
        if self.name not in POLICIES:
            raise LocalError(f"policy {self.name!r} is not one of {', '.join(POLICIES)}")
        if self.alpha is not None:
            check_positive("alpha", self.alpha)
        checked_confidence(self.confidence)

    def __call__(self, arms: Sequence[Arm], seed: int, quantum: float = BERNOULLI) -> Policy:
        """Return a fresh policy: for rewards that are 0 or 1, unless the quantum says otherwise."""
        if self.name in DRAWING:
            return DRAWING[self.name](arms, seed=seed, quantum=quantum)
        return _CONFIDENT[self.name](arms, alpha=self.alpha, confidence=self.confidence, quantum=quantum)

    @property
    def exploration(self) -> float:
        """The alpha in use: the given one, or the policy's usual one; 0 for policies that draw."""
        if self.name in DRAWING:
            return 0.0
        return _CONFIDENT[self.name].usual_alpha if self.alpha is None else self.alpha
