"""The formats of the HTTP API: parameters, algorithms, study definitions, requests and responses."""
