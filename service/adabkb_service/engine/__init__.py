"""Pure numerics: arrays in, arrays out. No web, no SQL, no clock, no logging, no global randomness."""
