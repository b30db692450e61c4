"""What is not for pytest: harnesses that need atheris."""

collect_ignore = ["guided.py", "guided_load.py"]
