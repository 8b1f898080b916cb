"""What to pull. Policies know tallies, not peers; one file each."""

from tacit.policies.aae import AAE
from tacit.policies.base import IndexPolicy, Policy
from tacit.policies.confidence import Confidence, Horizon
from tacit.policies.kl_ucb import KLUCB
from tacit.policies.thompson import Thompson
from tacit.policies.ucb import UCB

__all__ = ["AAE", "KLUCB", "UCB", "Confidence", "Horizon", "IndexPolicy", "Policy", "Thompson"]
