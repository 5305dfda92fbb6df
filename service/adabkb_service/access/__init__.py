"""Access control: tokens, callers and their rights to studies. Without HTTP; ``api/admission.py`` calls it."""
