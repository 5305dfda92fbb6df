"""Log people in at an OpenID Connect provider: the protocol, and what their claims allow. Without a database."""
