"""How fast the ray engine is, beside a bare loop and Flower's own engine."""
