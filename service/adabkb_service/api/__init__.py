"""The HTTP interface: request bodies, answers and problem documents, with one router per resource."""
