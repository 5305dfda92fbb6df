"""What the server tells about itself: metrics, lines of the log, traces."""
