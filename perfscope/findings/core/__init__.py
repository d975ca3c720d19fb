"""What a finding is, how its gain is stated, and the catalog of all of them."""
