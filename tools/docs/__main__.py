"""Write everything in the documentation that comes from the code or from results."""

from __future__ import annotations

from tools.docs import constants, numbers, sections

if __name__ == "__main__":
    for section in sections.SECTIONS:
        sections.write(section)
    constants.write()
    for page in numbers.pages():
        numbers.rewrite(page)
