"""What the loss account holds and no diagnosis explains."""
