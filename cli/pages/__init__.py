"""Pages in HTML that need no server: boards, their styles and scripts, and the report of an analysis."""
