"""What differential privacy adds to a round: clipping and noise, what they cost, and the budget that ends a run."""
