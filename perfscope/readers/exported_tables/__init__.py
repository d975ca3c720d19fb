"""Tables that perfscope exported, as CSV or Parquet."""
