"""The wire format: parameters, algorithms, study definitions, requests and responses."""
