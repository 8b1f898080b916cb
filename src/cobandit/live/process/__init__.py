"""A member from a file until a signal: configuration, logs, metrics over HTTP."""
