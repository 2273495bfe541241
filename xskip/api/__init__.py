"""The API that users call; ``xskip`` exports its public names."""
