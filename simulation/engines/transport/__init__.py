"""How arrays and numbers travel between the driver and its workers."""
