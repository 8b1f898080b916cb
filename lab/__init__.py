"""The laboratory: whole worlds in which everything goes wrong, in virtual time and with real processes.

It is not installed, and is run from the repository's root: `python -m lab swarm`, `python -m lab faults`. It may know
all of cobandit; cobandit knows nothing of it.
"""
