"""The pictures of the documentation, of real runs. ``make pictures`` draws them; screenshots differ each time."""
