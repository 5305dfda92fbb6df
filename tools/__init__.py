"""What writes committed files: code of the client, examples of the HTTP API, documentation, pictures. ``make generate``
runs all but the pictures, and tests compare the committed files with what these programs make. Nothing that is shipped
imports this package.
"""
