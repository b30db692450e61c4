"""Side by side with the peers: ratios measured in one run, on the same arrays.

``python -m benchmarks`` runs the standard set and rewrites ``benchmarks/results/``;
``--quick`` takes few repeats, ``--only NAME`` a part of the jobs, and both only print.

A family of jobs is a module ``jobs_<family>.py`` with one function ``jobs()`` that
yields `harness.Job`; a new module is found by its name.
"""
