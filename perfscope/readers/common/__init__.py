"""What several readers need: clocks, amounts, and blocks of records."""
