"""GP-ThreDS: threshold tests on a dyadic tree of cells."""
