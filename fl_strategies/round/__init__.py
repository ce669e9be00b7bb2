"""What a round consists of on the server: the cohort, the exchange of messages, the replies, and the parts at work on them."""
