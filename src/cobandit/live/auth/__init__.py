"""Authentication: keys, identities, seals, and reasons for refusal. It knows no transports."""
