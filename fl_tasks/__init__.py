"""What is learned: the loss, what labels are, how well a model does."""
