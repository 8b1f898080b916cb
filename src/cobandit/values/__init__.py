"""Plain values and the checks on them: tallies, quanta, chance, checks, extras, errors. They know no other package."""
