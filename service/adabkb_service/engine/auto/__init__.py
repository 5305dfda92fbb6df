"""The ``auto`` profile: the tree and the loop of the ``paper`` profile, but with learned hyperparameters."""
