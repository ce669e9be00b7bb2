"""GPUs of the ray engine: what a worker tells of one, how many workers it holds, and how Ray is asked to spread them."""
