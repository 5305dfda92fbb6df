"""The ``auto`` profile: the tree and loop of the ``paper`` profile, with learned hyperparameters."""
