"""How frames travel between the members of a group. There is one file for each network; `base.py` has the contract."""
