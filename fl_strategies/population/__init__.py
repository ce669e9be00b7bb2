"""All clients of a run, however many: what is known of them beforehand, and one number for each."""
