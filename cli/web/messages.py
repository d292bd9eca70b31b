"""The messages of the page: which there are, what they may hold, and how large they may be."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

MAX_CHARACTERS, MAX_LOADED_CHARACTERS = 64 * 1024, 8 * 1024 * 1024
"""Largest message, and largest text of a `load`, in characters."""
MAX_ID = 2**53
"""Largest number of a message: what JavaScript can count."""


class MessageError(ValueError):
    """A message that cannot be understood; one line that says what was expected and found.

    Attributes:
        id: number of the message, None if it has none that can be read.
    """

    def __init__(self, text: str, number: int | None = None) -> None:
        super().__init__(text)
        self.id = number


def _number_of(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= MAX_ID else None


NodeId = Annotated[int, Field(ge=0, le=2**31)]
Name = Annotated[str, Field(max_length=200)]
Fen = Annotated[str, Field(max_length=2000)]
RunName = Annotated[str, Field(max_length=1000)]
Square = Annotated[str, Field(pattern="^[0-9]{1,4}$")]


class Message(BaseModel):
    """A message of the page that was checked."""

    model_config = ConfigDict(extra="forbid", strict=True)
    type: Any
    id: Annotated[int | None, BeforeValidator(_number_of)] = None


class Plain(Message):
    """A message without fields."""

    type: Literal[
        "undo", "redo", "resign", "draw", "analysis", "resume", "hint", "stop", "endcurve", "save", "pdn",
        "runs", "unfollow", "ping",
    ]  # fmt: skip


class Hello(Message):
    """The first message; with the key of a table, to come back to it."""

    type: Literal["hello"]
    table: Annotated[str, Field(max_length=100)] | None = None


class New(Message):
    """Begin a game: in a position, with an opening, or at a node of the tree."""

    type: Literal["new"]
    black: Name
    white: Name
    game: Name | None = None
    control: Name = ""
    fen: Fen | None = None
    opening: Fen | None = None
    node: NodeId | None = None
    name: Annotated[str, Field(max_length=60)] = ""


class Play(Message):
    """Play a move, in an analysis at a node."""

    type: Literal["play"]
    move: Name
    node: NodeId | None = None


class AtNode(Message):
    """Look at a node, make its line the main one, or remove it and all after it."""

    type: Literal["go", "promote", "remove"]
    node: NodeId


class Rematch(Message):
    """Begin the game again."""

    type: Literal["rematch"]
    swap: bool = False


class Place(Message):
    """Set up a position, or check one: a FEN, or pieces by square and the side to move."""

    type: Literal["setup", "check"]
    game: Name | None = None
    fen: Fen | None = None
    pieces: Annotated[dict[Square, Literal["b", "w", "B", "W"]], Field(max_length=1000)] | None = None
    turn: Literal["black", "white"] = "black"


class Comment(Message):
    """Set the comment of a node."""

    type: Literal["comment"]
    node: NodeId
    text: Annotated[str, Field(max_length=20_000)]
    tree: Name | None = None


class Nag(Message):
    """Set or remove a sign of a node's move."""

    type: Literal["nag"]
    node: NodeId
    nag: Annotated[int, Field(ge=0, le=255)]


class Analyse(Message):
    """Switch the analysis on or off."""

    type: Literal["analyse"]
    on: bool
    lines: Annotated[int, Field(ge=1, le=10)] | None = None
    player: Name | None = None


class Curve(Message):
    """Search all positions of the main line."""

    type: Literal["curve"]
    visits: Annotated[int, Field(ge=1, le=100_000)] | None = None


class Look(Message):
    """Look inside a network and a search."""

    type: Literal["look"]
    node: NodeId | None = None
    player: Name | None = None
    visits: Annotated[int, Field(ge=1, le=20_000)] | None = None


class Question(Message):
    """Ask what experts played at a node, or what its move was worth."""

    type: Literal["experts", "explain"]
    node: NodeId | None = None


class Load(Message):
    """Load a file of games."""

    type: Literal["load"]
    text: Annotated[str, Field(max_length=MAX_LOADED_CHARACTERS)]
    name: Name


class List(Message):
    """List games of the file loaded."""

    type: Literal["list"]
    query: Name = ""
    result: Annotated[str, Field(max_length=10)] = ""
    sort: Annotated[str, Field(max_length=20)] = "index"
    offset: Annotated[int, Field(ge=0, le=10**7)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class Open(Message):
    """Open a game of the file loaded."""

    type: Literal["open"]
    index: Annotated[int, Field(ge=0, le=10**7)]


class Follow(Message):
    """Follow a run."""

    type: Literal["follow"]
    run: RunName


class RunGame(Message):
    """Open a game of a run."""

    type: Literal["rungame"]
    run: RunName
    generation: Annotated[int, Field(ge=0, le=10**6)]
    index: Annotated[int, Field(ge=0, le=10**6)]


_ANY: TypeAdapter[Any] = TypeAdapter(
    Annotated[
        Plain | Hello | New | Play | AtNode | Rematch | Place | Comment | Nag | Analyse | Curve | Look
        | Question | Load | List | Open | Follow | RunGame,
        Field(discriminator="type"),
    ]
)  # fmt: skip


def read_message(text: str) -> Any:
    """Check a message; return the model of its type.

    Raises:
        MessageError: it is too large, not JSON, of an unknown type, or has a wrong field.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise MessageError(f"expected a message as JSON, found {text[:60]!r}") from None
    try:
        message = _ANY.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "message"
        found = "" if first["type"] == "missing" else f", found {str(first['input'])[:60]!r}"
        number = _number_of(data.get("id")) if isinstance(data, dict) else None
        raise MessageError(
            f"{where}: {first['msg'][0].lower()}{first['msg'][1:400]}{found}", number
        ) from None
    if len(text) > MAX_CHARACTERS and not isinstance(message, Load):
        raise MessageError(
            f"{message.type}: expected at most {MAX_CHARACTERS:,} characters, found {len(text):,}", message.id
        )
    return message
