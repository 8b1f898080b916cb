"""How frames travel between the members of a group. One file for each network; `base.py` says what all promise."""
