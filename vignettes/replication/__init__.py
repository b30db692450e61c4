"""The papers' experiments, done again with this package: see `report` for their form.

``make replicate`` runs them all and writes one report. Each also runs by itself, from
the root of the project: ``python -m vignettes.replication.paper_b [folder] [--quick]``.
"""
