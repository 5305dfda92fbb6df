"""The state of a study under the profile: what follows from its log."""
