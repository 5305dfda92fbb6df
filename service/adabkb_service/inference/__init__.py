"""The model of a study at run time: the log as arrays, the fold, worker processes and proposals."""
