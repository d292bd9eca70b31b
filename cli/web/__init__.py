"""The board in a browser: the server, its tables, and the files of the page."""
