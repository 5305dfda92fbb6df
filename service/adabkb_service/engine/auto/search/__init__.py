"""The search for the point that maximizes the acquisition, in spaces of every kind."""
