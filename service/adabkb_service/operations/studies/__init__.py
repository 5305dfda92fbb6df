"""Create, change and list studies."""
