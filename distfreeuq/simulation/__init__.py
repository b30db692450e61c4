"""Simulation studies: many replicates of anything, seeded one by one, and resumable."""
