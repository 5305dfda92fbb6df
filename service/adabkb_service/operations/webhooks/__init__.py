"""Webhooks: their configuration, messages and deliveries."""
