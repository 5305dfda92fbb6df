"""The engine of ``Study.run``: evaluates trials in threads, processes, tasks or on a cluster."""
