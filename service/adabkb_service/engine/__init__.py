"""Pure numerics on arrays. Without HTTP, SQL, clocks, logging or global randomness."""
