"""GP-ThreDS: threshold tests down a dyadic tree."""
