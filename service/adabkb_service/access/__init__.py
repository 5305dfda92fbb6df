"""Access control: tokens, callers and their rights on studies. It does not depend on HTTP; ``api/admission.py`` calls
it."""
