"""Reports about the model: predictions, the recommended point, the gap and checks."""
