"""The engines of a simulation: a Flower Grid on a pool of Ray workers, one in this process, and Flower's own runtime."""
