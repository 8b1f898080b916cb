"""Policies choose what to pull. They know tallies, not peers; one file each."""

from cobandit.policies.aae import AAE
from cobandit.policies.base import IndexPolicy, Policy
from cobandit.policies.confidence import Confidence, Horizon
from cobandit.policies.kl_ucb import KLUCB
from cobandit.policies.normal_thompson import NormalThompson
from cobandit.policies.thompson import Thompson
from cobandit.policies.ucb import UCB
from cobandit.policies.ucb_v import UCBV

__all__ = [
    "AAE",
    "KLUCB",
    "UCB",
    "UCBV",
    "Confidence",
    "Horizon",
    "IndexPolicy",
    "NormalThompson",
    "Policy",
    "Thompson",
]
