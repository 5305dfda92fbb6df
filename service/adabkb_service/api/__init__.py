"""HTTP only: bodies, answers, problems; one router per resource."""
