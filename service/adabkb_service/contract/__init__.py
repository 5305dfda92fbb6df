"""What travels: parameters, algorithms, study definitions, requests and answers."""
