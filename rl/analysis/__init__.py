"""Analysis of games: values of positions, graded moves, players' accuracy, annotated PDN.

    from ckai.rl.analysis import Analyst, annotate
    report = Analyst(evaluator).analyze(game)       # a GameReport: what each move costs, and what was better

May import `games`, `evaluators`, `search`, `alphabeta` and `engine`.
"""

from typing import TYPE_CHECKING

from ckai.datasets.choices import lazy_exports

if TYPE_CHECKING:
    from ckai.rl.analysis.analyst import Analyst
    from ckai.rl.analysis.annotation import annotate
    from ckai.rl.analysis.report import GameReport, Grade, PlyReport, accuracy_of, player_rows
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "Analyst",
    "GameReport",
    "Grade",
    "PlyReport",
    "accuracy_of",
    "annotate",
    "player_rows",
]
