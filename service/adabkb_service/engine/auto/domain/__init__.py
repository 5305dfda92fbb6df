"""The search space in the form that the profile uses: axes, choices, and the partition tree."""
