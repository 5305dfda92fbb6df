"""The page: what a person sees of the studies in a browser, and does with them."""
