"""What goes over the wire: parameters, algorithms, study definitions, requests and answers."""
