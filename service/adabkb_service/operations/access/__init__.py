"""Who may use the server and a study: tokens, sessions, shared studies, and the audit log."""
