"""What people are told of the model: predictions, the recommended point, the gap and checks."""
