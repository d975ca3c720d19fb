"""What a finding is, how its gain is stated, and the catalogue of all of them."""
