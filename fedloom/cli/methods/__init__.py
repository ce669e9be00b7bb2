"""Commands that tell of the methods there are."""
