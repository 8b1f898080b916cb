"""What another policy would have brought, from the log of decisions: `evaluate`."""

from cobandit.evaluation.estimators import Column, Estimate, Evaluation, evaluate
from cobandit.evaluation.logged import LoggedDecisions, read_decisions

__all__ = ["Column", "Estimate", "Evaluation", "LoggedDecisions", "evaluate", "read_decisions"]
