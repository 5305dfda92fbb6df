"""The HTTP interface: bodies, answers and problems, with one router per resource."""
