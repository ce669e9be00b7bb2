"""How fast the engine is, beside a bare loop and Flower's own engine."""
