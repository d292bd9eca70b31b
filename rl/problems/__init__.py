"""Problems from PDN and FEN files: reading them, solving them, and what the tablebases say of their results.

May import `engine`.
"""
