"""How calls are sent: connections, repetition, results that are kept while the server is away."""
