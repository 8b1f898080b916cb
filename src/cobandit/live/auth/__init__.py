"""Who said it: keys, identities, seals, and what is refused. It knows no transports."""
