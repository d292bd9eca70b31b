"""A tab of the board without a browser: messages over a WebSocket, the state that they lead to."""

import time
from contextlib import chdir, contextmanager

from starlette.testclient import TestClient

from ckai.cli.web.app import make_app
from ckai.cli.web.players import PlayerCatalog
from ckai.cli.web.server import Server
from ckai.cli.web.state import drawn_games

HOST = "127.0.0.1:8000"
ORIGIN = f"http://{HOST}"
HOME = {"host": HOST, "origin": ORIGIN}


@contextmanager
def serving(folder, *, token=None, given=(), experts=None):
    """A test client of a server whose runs are in a folder."""
    games = {spec.name: spec for spec in drawn_games()}
    players = PlayerCatalog(
        list(games.values()), evaluator="torch", tables="3", seed=1, vary=False, given=given
    )
    servers = []

    def make_server():
        servers.append(Server(players, games, experts=experts, folder=folder))
        return servers[0]

    with TestClient(make_app(make_server, token), base_url=ORIGIN) as client:
        client.server = servers[0]
        yield client


@contextmanager
def serving_in(folder):
    """The same, with the folder as the current one."""
    with chdir(folder), serving(folder) as client:
        yield client


class Tab:
    """A tab that has said hello."""

    def __init__(self, socket, table=None):
        self.socket, self.number, self.state, self.nodes = socket, 0, None, None
        self.news = []
        self.hello = self.ask("hello", **({} if table is None else {"table": table}))
        self.key = self.hello.get("table")
        if self.hello["type"] == "done" and self.state is None:
            self.until("state")

    def receive(self):
        message = self.socket.receive_json()
        self.news.append(message)
        if message["type"] == "state":
            self.state = message
            if message["nodes"] is not None:
                self.nodes = {node["id"]: node for node in message["nodes"]}
        return message

    def until(self, kind, fits=lambda message: True):
        """The next message of a type that fits."""
        while True:
            message = self.receive()
            if message["type"] == kind and fits(message):
                return message

    def ask(self, kind, **fields):
        """The answer to a message, `done` or `error`."""
        self.number += 1
        number = self.number
        self.socket.send_json({"type": kind, "id": number, **fields})
        while True:
            message = self.receive()
            if message["type"] in ("done", "error") and message["id"] == number:
                return message

    def do(self, kind, **fields):
        """The answer to a message that must not be an error."""
        answer = self.ask(kind, **fields)
        assert answer["type"] == "done", answer
        return answer

    def refused(self, kind, **fields):
        """The text of the error that a message leads to."""
        answer = self.ask(kind, **fields)
        assert answer["type"] == "error", answer
        assert "\n" not in answer["text"]
        return answer["text"]

    def moves(self):
        """The moves of the line shown."""
        return [self.nodes[number]["move"] for number in self.state["line"][1:]]

    def wait_for(self, fits):
        """The first state that fits, the present one included."""
        while not fits(self.state):
            self.until("state")
        return self.state


@contextmanager
def tab(client, table=None):
    """A tab of a server."""
    with client.websocket_connect("/ws", headers=HOME) as socket:
        here = Tab(socket, table)
        yield here
    session = client.server.sessions[here.key]
    while session.link is not None:  # the next test has another folder for its games
        time.sleep(0.001)
    client.server._writer.submit(int).result()
