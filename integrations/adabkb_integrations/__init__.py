"""Ada-BKB in other tools: one module per tool, named after it, and ``inprocess`` for optimization in this process.

Each module needs the extra of its name, such as ``pip install 'adabkb-service[optuna]'``; ``inprocess`` needs
``[engine]``.
"""
