"""The server of the board without a browser: requests of a page, and the searches of its tab."""

from contextlib import chdir, contextmanager

from starlette.testclient import TestClient

from ckai.cli.web.app import make_app
from ckai.cli.web.server import Server

HOST = "127.0.0.1:8000"
ORIGIN = f"http://{HOST}"
HOME = {"host": HOST, "origin": ORIGIN}


@contextmanager
def serving(folder, *, token="", given=()):
    """A test client of a server in a folder."""
    with chdir(folder):
        server = Server(given)
        with TestClient(make_app(server, token), base_url=ORIGIN, headers={"origin": ORIGIN}) as client:
            yield client


class Tab:
    """The WebSocket of a tab."""

    def __init__(self, socket):
        self.socket, self.number = socket, 0

    def send(self, kind, **fields):
        """Ask for a search; return its number."""
        self.number += 1
        self.socket.send_json({"kind": kind, "id": self.number, **fields})
        return self.number

    def until(self, number, fits=lambda message: message.get("final")):
        """The next message about a search that fits; by default the last one."""
        while True:
            message = self.socket.receive_json()
            if message["id"] == number:
                if fits(message):
                    return message
                assert not message.get("final"), message

    def find(self, kind, **fields):
        """What a search finds in the end."""
        found = self.until(self.send(kind, **fields))
        assert "error" not in found, found
        return found

    def refused(self, kind, **fields):
        """The line that a search is refused with."""
        found = self.until(self.send(kind, **fields))
        assert "\n" not in found["error"]
        return found["error"]


@contextmanager
def tab(client):
    """A tab of a server."""
    with client.websocket_connect("/ws", headers=HOME) as socket:
        yield Tab(socket)


def ask(client, kind, **fields):
    """What a request of a tab of its own is answered with."""
    with tab(client) as here:
        return here.find(kind, **fields)


def refused(client, kind, **fields):
    """The line that a request is refused with."""
    with tab(client) as here:
        return here.refused(kind, **fields)
