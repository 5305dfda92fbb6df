"""Tests of the whole as users meet it: the pages in a browser, examples, documentation, recipes, crashes."""
