"""Results of the operations on an index, and their display as text, HTML, JSON and pandas DataFrames."""
