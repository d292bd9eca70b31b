"""Analysis of games: values of positions, graded moves, players' accuracy, annotated PDN.

May import `games`, `evaluators`, `search` and `engine`.
"""

from ckai.rl.analysis.analyst import Analyst
from ckai.rl.analysis.annotate import annotate
from ckai.rl.analysis.config import AnalysisConfig
from ckai.rl.analysis.grading import Grade, accuracy_of, expected_points
from ckai.rl.analysis.players import PlayerTable
from ckai.rl.analysis.report import GameReport, PlyReport

__all__ = [
    "AnalysisConfig",
    "Analyst",
    "GameReport",
    "Grade",
    "PlayerTable",
    "PlyReport",
    "accuracy_of",
    "annotate",
    "expected_points",
]
