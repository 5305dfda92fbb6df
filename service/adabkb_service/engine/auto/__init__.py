"""The ``auto`` profile: Ada-BKB with learned hyperparameters."""
