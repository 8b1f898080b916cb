"""A member as a process, from its file to a signal: configuration, logs, metrics over HTTP."""
