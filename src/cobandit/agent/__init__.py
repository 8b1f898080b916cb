"""One agent: a policy that decides and an endpoint that talks. Still without clock, randomness or I/O."""

from cobandit.agent.agent import Agent

__all__ = ["Agent"]
