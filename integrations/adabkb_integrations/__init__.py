"""Ada-BKB in the tools that people use already, one module for each, named after it; ``inprocess`` is for none of them.

Each needs the extra of its name, such as ``pip install 'adabkb-service[optuna]'``; ``inprocess`` needs ``[engine]``.
"""
