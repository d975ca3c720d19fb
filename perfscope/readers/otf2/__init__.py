"""OTF2 archives of Score-P and others."""
