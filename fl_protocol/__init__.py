"""What travels: one dataclass per message and per reply, arrays and their layout, and every reach into Flower's insides."""
