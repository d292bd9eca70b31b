"""A program that speaks Hub, for the tests: `python hub_program.py [how]`; it plays its first legal move.

`how`: `good`; `slow`, it never answers; `illegal`, its move is none; `crash`, it ends when it should think;
`mute`, it never gets ready; `chatty`, it says much that nobody asked for.
"""

import sys
import time

from ckai.game import Position
from ckai.rl.matches.hub import find_move, hub_move, read_line

PIECES = {"b": 1, "B": 3, "w": -1, "W": -3, "e": 0}


def position_of(text):
    black = [n for n in range(1, 33) if text[n] in "bB"]
    white = [n for n in range(1, 33) if text[n] in "wW"]

    def side(squares):
        return ",".join(("K" if text[n] in "BW" else "") + str(n) for n in squares)

    return Position.from_fen(f"{text[0]}:W{side(white)}:B{side(black)}")


def main(how):
    position = None
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
            position = position_of(arguments["pos"])
            for text in arguments.get("moves", "").split():
                position = position.push(find_move(text, position))
        elif command == "go":
            if how == "slow":
                time.sleep(60)
            if how == "crash":
                return
            move = "1-32" if how == "illegal" else hub_move(position.legal_moves()[0])
            print(f'info depth=1 score=0.0 pv="{move}"', flush=True)
            print(f"done move={move}", flush=True)
        elif command == "quit":
            return


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "good")
