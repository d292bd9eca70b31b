"""Reanalysis: fresh searches of the positions of rows, with a newer network, for new training targets.

MuZero Reanalyze (Schrittwieser et al. 2020, "Mastering Atari, Go, chess and shogi by planning with a learned
model", appendix H). The games stay as they were played, and so does their result z; the policy target and q
are those of the new search.

May import `games`, `evaluators`, `search` and `selfplay`.
"""
