"""Tests of the whole product: the web interface in a browser, examples, documentation, recipes and crashes."""
