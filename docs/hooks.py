"""Hooks of MkDocs: examples in docstrings become code blocks."""

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

BEFORE_FENCES = 40
"""Priority: above that of fenced blocks, which this makes."""


class _Doctests(Preprocessor):
    """Put lines from `>>>` to the next blank line into a fence, as doctest reads them.

    The Google style asks for a section Examples; an example may also stand in the text.
    """

    def run(self, lines: list[str]) -> list[str]:
        out: list[str] = []
        indent: str | None = None
        fenced = False
        for line in [*lines, ""]:
            fenced ^= line.lstrip().startswith("```")
            if indent is None and not fenced and (start := re.match(r"( *)>>> ", line)):
                indent = start[1]
                out += ["", f"{indent}```pycon"]
            elif indent is not None and not line.strip():
                out.append(f"{indent}```")
                indent = None
            if indent is not None:
                line = re.sub(r"\s*# doctest:.*", "", line).replace("<BLANKLINE>", "")
            out.append(line)
        return out


class DoctestExtension(Extension):
    """Fences for examples."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  (Markdown's name)
        """Register the preprocessor."""
        md.preprocessors.register(_Doctests(md), "doctests", BEFORE_FENCES)


def on_config(config: Any) -> Any:
    """Add the extension."""
    config.markdown_extensions.append(DoctestExtension())
    return config
