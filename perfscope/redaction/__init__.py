"""A recording made fit to be handed to others: what names anything is hashed or gone."""
