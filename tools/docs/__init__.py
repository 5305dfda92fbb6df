"""What is generated in the documentation: sections between comments (``sections.py``), the tables of constants
(``constants.py``) and the numbers in sentences (``numbers.py``). ``python -m tools.docs`` writes all of them.
"""
