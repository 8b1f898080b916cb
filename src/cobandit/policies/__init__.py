"""What to pull. Policies know tallies, not peers; one file each."""

from cobandit.policies.aae import AAE
from cobandit.policies.base import IndexPolicy, Policy
from cobandit.policies.confidence import Confidence, Horizon
from cobandit.policies.kl_ucb import KLUCB
from cobandit.policies.thompson import Thompson
from cobandit.policies.ucb import UCB

__all__ = ["AAE", "KLUCB", "UCB", "Confidence", "Horizon", "IndexPolicy", "Policy", "Thompson"]
