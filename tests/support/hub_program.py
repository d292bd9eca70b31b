"""A program that speaks Hub, for the tests: `python hub_program.py [how]`.

It plays the first of its legal moves by the alphabet. It shares nothing with `ckai`, as a program of somebody
else would, and so starts at once.

`how`: `good`; `slow`, it never answers; `illegal`, its move is none; `crash`, it ends when it should think;
`mute`, it never gets ready; `chatty`, it says much that nobody asked for; `patient`, it moves when it is told
to stop.
"""

import shlex
import sys
import time

from slow_rules import PLACES, legal_moves, other


def board_of(text):
    """A position of the protocol -> board and side of `slow_rules`."""
    pieces = {n: text[n] for n in range(1, 33) if text[n] != "e"}
    return {PLACES[n]: piece for n, piece in pieces.items()}, text[0].lower()


def written(path, taken):
    """A move in the protocol's words: its ends and the squares taken, ascending."""
    return "x".join(map(str, [path[0], path[-1], *sorted(taken)])) if taken else f"{path[0]}-{path[-1]}"


def moves_of(board, side):
    """{the move in the protocol's words: board after it}."""
    return {written(path, taken): after for path, (taken, after) in legal_moves(board, side).items()}


def ascending(text):
    """A move's words with its squares taken in ascending order."""
    ends, taken = text.split("x")[:2], text.split("x")[2:]
    return "x".join([*ends, *sorted(taken, key=int)])


def read_line(line):
    """A line of the protocol -> command and arguments; a flag has an empty value."""
    command, *words = shlex.split(line)
    return command, {name: value for name, _, value in (word.partition("=") for word in words)}


def main(how):
    board, side = {}, "b"
    for line in sys.stdin:
        command, arguments = read_line(line)
        if command == "hub":
            print('id name=First version=1.0 author="A Name" country=None', flush=True)
            if how != "mute":
                print('param name=variant value=normal type=enum values="normal english"', flush=True)
                print("wait", flush=True)
        elif command == "set-param" and arguments != {"name": "variant", "value": "english"}:
            sys.exit(f"unexpected {line}")
        elif command == "init":
            if how == "chatty":
                print('\nnonsense "half\nloading the book\ninfo depth=1', flush=True)
            print("ready", flush=True)
        elif command == "pos":
            board, side = board_of(arguments["pos"])
            for text in arguments.get("moves", "").split():
                board, side = moves_of(board, side)[ascending(text)], other(side)
        elif command == "go":
            if how == "slow":
                time.sleep(60)
            if how == "crash":
                return
            while how == "patient" and next(sys.stdin).strip() != "stop":
                pass
            move = "1-32" if how == "illegal" else min(moves_of(board, side))
            print(f'info depth=1 score=0.0 pv="{move}"', flush=True)
            print(f"done move={move}", flush=True)
        elif command == "quit":
            return


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "good")
