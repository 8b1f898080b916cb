"""Plain values and what they must be: tallies, quanta, chance, checks, extras, errors. They know nobody."""
