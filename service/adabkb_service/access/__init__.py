"""Who may do what: tokens, callers and what they may do with a study. No HTTP here: ``api/admission.py`` asks."""
