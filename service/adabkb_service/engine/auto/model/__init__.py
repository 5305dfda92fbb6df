"""The Gaussian process: kernel, warp, noise, hyperparameters and posteriors."""
