"""A run as a plan and as a folder: options become a plan, a plan becomes a server, a server writes a folder that can be read and resumed."""
