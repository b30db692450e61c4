"""Random calls of everything public: ``python -m tests.fuzz``, or ``make fuzz``.

Data flows one way: `samples` draws a small situation, `kinds` the arguments by what
they are, `presentation` gives arrays another form, `table` says what every function
takes, `case` makes the calls of one seed, `judge` decides each of them, `runner` keeps
workers busy and the journal, `__main__` prints.
"""
