"""Requests on one study: batches of requests, the draft that they change, and the rules that they follow."""
