"""Log people in at an OpenID Connect provider: the protocol, and the rights that their claims grant. It does not use
the database."""
