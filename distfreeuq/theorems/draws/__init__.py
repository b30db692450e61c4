"""What experiments draw: scored rows, samples of both domains, finite laws."""
