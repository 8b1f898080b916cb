"""Plain values and what they must be: tallies, quanta, chance, checks, errors. They know nobody."""
