"""Details of a result that the record of a finished trial does not have."""

from adabkb_client import Study, Trial


def std_error(study: Study, trial: Trial) -> float | None:
    """Return the standard error that came with a trial's value; None if it is unknown, or the trial has no value."""
    if trial.value is None:
        return None
    # The first result is the one whose value the trial has; further ones are replicates.
    return next((each.std_error for each in study.observations() if each.trial == trial.number), None) or None
