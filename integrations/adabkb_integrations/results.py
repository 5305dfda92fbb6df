"""Details of a result that are not part of a finished trial."""

from adabkb_client import Study, Trial


def std_error(study: Study, trial: Trial) -> float | None:
    """Return the standard error of a trial's value; None if it is unknown, or if the trial has no value."""
    if trial.value is None:
        return None
    # The trial's value is that of its first result; further results are replicates.
    return next((each.std_error for each in study.observations() if each.trial == trial.number), None) or None
