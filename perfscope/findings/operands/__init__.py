"""What numeric work need not do, as its operands show."""
