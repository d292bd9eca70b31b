"""The forms of the text of an engine; imports nothing, so that help shows them quickly."""

DEFAULT_VISITS, DEFAULT_DEPTH, DEFAULT_SECONDS = 400, 6, 0.1
"""Limits of a text without one: of a tree search, of alpha-beta on material, of others by time."""
TIME_MARGIN = 0.05
"""Seconds by which a clock may be overstepped: a busy machine is no fault of the player."""
FULL_STRENGTH_SECONDS = 0.5
"""Time per move of the highest level."""

PLAYER_FORMS = {
    "best.ckpt@400": "a network or a run's best, 400 visits per move",
    "best.ckpt@0.5s": "half a second per move; @50ms is 0.05 s",
    "best.ckpt@60s+0.6s": "a clock: a minute a game and 0.6 s a move; @5m, @40/5m for 40 moves",
    "best.ckpt@policy": "the policy's best move, without search",
    "ckai@0.5s": "the network installed with ckai, the best one where time is short",
    "small@400": "a larger one installed with it, the best one at equal visits",
    "level:3": "a level of play, from 1 for beginners; 16 is full strength",
    "rollout@1000": "vanilla MCTS, 1,000 random playouts per move",
    f"alphabeta@{DEFAULT_DEPTH}": f"alpha-beta search of material, {DEFAULT_DEPTH} plies deep",
    "alphabeta:swift.ckpt@50ms": "alpha-beta search with an integer network; or @8 plies, @60s+0.6s",
    "hub:COMMAND": "another program, by the Hub protocol; @0.5s, @60s+0.6s, or @8 plies",
    "gtp:COMMAND": "another program, by GTP, the protocol of Go programs; @5s or @5m",
    "uniform@100": "search with uniform priors, without a network",
    "random": "random legal moves",
    "perfect": "perfect play, ties broken at random, in games that can be solved",
}
"""Every form of a text, by example, and what it stands for.

Visits are those of one hop: each hop of a capture of several is searched with as many.
"""


def forms_text() -> str:
    """Return the forms as the lines of a list, for help."""
    width = max(map(len, PLAYER_FORMS))
    return "\n".join(f"  {form:<{width}}  {meaning}" for form, meaning in PLAYER_FORMS.items())
