"""The user's cache folder: endgame tables, and what was measured on this machine."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder: `$CKAI_CACHE`, or the platform's usual place."""
    given = os.environ.get("CKAI_CACHE")
    if given:
        return Path(given)
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "ckai"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ckai"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ckai"
