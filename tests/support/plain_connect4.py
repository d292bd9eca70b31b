"""Connect-4 by plain search: a board of squares, lines counted by stones, alpha-beta that remembers."""

import numpy as np
from numba import njit

UNKNOWN = 100
PLACES = 4_000_037
"""Positions that a search remembers."""


@njit(cache=True)
def wins_at(board, column, row):
    """Whether the stone on a square is in a line of four."""
    who = board[column, row]
    for across, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
        length = 1
        for way in (1, -1):
            x, y = column + way * across, row + way * up
            while 0 <= x < 7 and 0 <= y < 6 and board[x, y] == who:
                length += 1
                x, y = x + way * across, y + way * up
        if length >= 4:
            return True
    return False


@njit(cache=True)
def number_of(board, heights):
    """A number that only this position has: for each column seven bits, a 1 and the colours of its stones."""
    number = np.int64(0)
    for column in range(7):
        stones = np.int64(1)
        for row in range(heights[column]):
            stones = stones * 2 + (board[column, row] > 0)
        number = number * 128 + stones
    return number


@njit(cache=True)
def plain_score(board, heights, who, stones, alpha, beta, seen, bounds):
    """The score of a position: 22 less the stones of the winner at the end, for the side `who` to move.

    `seen` has numbers of positions, `bounds` the least and the highest score that each can have.
    """
    if stones == 42:
        return 0
    for column in range(7):
        row = heights[column]
        if row < 6:
            board[column, row] = who
            won = wins_at(board, column, row)
            board[column, row] = 0
            if won:
                return 22 - (stones // 2 + 1)
    number = number_of(board, heights)
    place = number % len(seen)
    low, high = -UNKNOWN, UNKNOWN
    if seen[place] == number:
        low, high = bounds[place, 0], bounds[place, 1]
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
    best, least = -UNKNOWN, alpha
    for i in range(7):
        column = 3 + (i + 1) // 2 * (1 if i % 2 else -1)
        row = heights[column]
        if row < 6:
            board[column, row], heights[column] = who, row + 1
            score = -plain_score(board, heights, -who, stones + 1, -beta, -alpha, seen, bounds)
            board[column, row], heights[column] = 0, row
            best = max(best, score)
            alpha = max(alpha, score)
            if alpha >= beta:
                break
    seen[place] = number
    bounds[place, 0] = best if best > least else low
    bounds[place, 1] = best if best < beta else high
    return best


def random_moves(rng, stones):
    """Random moves, columns 0 to 6, to a position with so many stones in which the game goes on."""
    while True:
        board, heights, moves = np.zeros((7, 6), np.int64), [0] * 7, []
        while len(moves) < stones:
            column = rng.choice([column for column in range(7) if heights[column] < 6])
            board[column, heights[column]] = -1 if len(moves) % 2 else 1
            if wins_at(board, column, heights[column]):
                break
            heights[column] += 1
            moves.append(column)
        if len(moves) == stones < 42:
            return moves


def plain(moves):
    """The score of the position after moves, columns 0 to 6."""
    board, heights, who = np.zeros((7, 6), np.int64), np.zeros(7, np.int64), 1
    for column in moves:
        board[column, heights[column]] = who
        heights[column] += 1
        who = -who
    seen, bounds = np.zeros(PLACES, np.int64), np.zeros((PLACES, 2), np.int8)
    return plain_score(board, heights, who, len(moves), -UNKNOWN, UNKNOWN, seen, bounds)
