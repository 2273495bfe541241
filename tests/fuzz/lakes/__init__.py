"""Random lakes and reads: a read returns the messages that the files of the lake hold, whatever descriptors claim.

``python -m tests.fuzz.lakes --lakes 100 --seed 7`` changes each lake in several steps, and compares reads after each
step with messages that Python selects from those that were written. A reader goes on from token to token.
"""
