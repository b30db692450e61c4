"""Files that are damaged or forged, and processes that are killed while they write.

``python -m tests.reliability`` runs all of it and prints how often what happened; the
tests here run small parts.
"""
