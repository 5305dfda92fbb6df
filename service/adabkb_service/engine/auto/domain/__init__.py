"""The search space as the profile sees it: axes, choices, and the partition tree."""
