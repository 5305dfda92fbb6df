"""The algorithms a study can name, one file each."""
