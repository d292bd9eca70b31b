"""Text of strangers, made fit to be printed."""

import unicodedata


def printable(text: str, most: int | None = None) -> str:
    """Return text in which `?` stands for each character that a terminal may obey instead of showing it.

    These are control characters (C0, C1 and DEL), marks of the direction of writing, and surrogates, of file
    names that are no UTF-8. Line ends stay, a tab becomes a space.

    Args:
        text: any text.
        most: characters after which it is cut, and ends with `...`; None: it is not.

    >>> printable("a\\x1b[31mb\\x9b0m"), printable("11-15" * 9, most=12)
    ('a?[31mb?0m', '11-1511-1...')
    """
    if most is not None and len(text) > most:
        text = text[: most - 3] + "..."
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        c if c == "\n" or unicodedata.category(c)[0] != "C" else " " if c == "\t" else "?" for c in text
    )
