"""The tables of an opened trace, one a file; `TABLE` declares its columns and gives its rows."""
