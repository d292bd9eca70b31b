"""Settings: a dataclass field is the one source of a setting's type, bounds, default, help and names.

    @settings
    class LearnConfig:
        lr: float = setting(default=5e-4, gt=0, help="Peak learning rate")

From such a class come the check (`expected lr > 0, found -1`), what is read from and written to config.json
(`read_settings`), texts such as `learn.lr=0.001` (`parse_settings`), the options of a command
(`ckai.cli.shared.settings`) and the page docs/settings.md. Types are strict: a bool is no number, a whole
number is fine for a float. The checking is pydantic's, which takes a tenth of a second to import: help of
`ckai` itself must not need this module. Imports neither numpy nor torch, so that help of a command is quick.
"""

import dataclasses
import difflib
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform, get_args, get_origin

import pydantic
from pydantic.fields import FieldInfo

T = TypeVar("T")

_STRICT = pydantic.ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
_TYPES = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    dict: "a table",
}


class SettingError(ValueError):
    """A setting that does not exist, or a value it cannot have; names the setting, in one line."""

    def __init__(self, before: str, name: str, after: str) -> None:
        """Args: the message in three parts, the middle one the name of the setting."""
        super().__init__(before + name + after)
        self.parts = before, name, after

    def within(self, path: str) -> "SettingError":
        """The same error for a setting of a section; `path` ends with a dot."""
        before, name, after = self.parts
        return SettingError(before, path + name, after)


def setting(
    *,
    help: str,
    default: Any = dataclasses.MISSING,
    default_factory: Callable[[], Any] | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    multiple_of: int | None = None,
    option: str | None = "",
    aliases: tuple[str, ...] = (),
    option_aliases: tuple[str, ...] = (),
) -> Any:
    """A field of a class of settings, or a section if its type is such a class itself.

    Args:
        help: what it does, verb first; of a section the heading of its options.
        default: the value if none is given.
        default_factory: makes the default; for sections and dicts.
        ge: the smallest value.
        gt: what the value must exceed.
        le: the largest value.
        lt: what the value must stay below.
        multiple_of: what the value must be a multiple of.
        option: of the command line; empty: `--` and the name; None: there is none.
        aliases: earlier names, still read in config.json and texts.
        option_aliases: earlier names of the option, still taken but not shown.
    """
    extra: dict[str, Any] = {"option": option, "aliases": aliases, "option_aliases": option_aliases}
    bounds = {"ge": ge, "gt": gt, "le": le, "lt": lt, "multiple_of": multiple_of}
    given: dict[str, Any] = {name: value for name, value in bounds.items() if value is not None}
    if default_factory is not None:
        given["default_factory"] = default_factory
    else:
        given["default"] = default
        if isinstance(default, tuple):
            given["strict"] = False  # JSON has lists only; the items stay strict
    return pydantic.Field(description=help, json_schema_extra=extra, **given)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(setting,))
def settings(cls: type[T]) -> type[T]:
    """Class decorator: a frozen dataclass of keywords that checks its values when it is made.

    Making one raises SettingError for a value that its field refuses, and whatever ValueError a
    `__post_init__` raises that checks values against each other.
    """
    made: Any = pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_STRICT)(cls)
    validate = made.__init__

    @functools.wraps(validate)
    def checked(self: Any, /, **values: Any) -> None:
        try:
            validate(self, **values)
        except pydantic.ValidationError as error:
            raise _readable(made, error) from None

    made.__init__ = checked
    result: type[T] = made
    return result


def _readable(cls: Any, error: pydantic.ValidationError) -> ValueError:
    """The first error of pydantic's in our words."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # of a __post_init__
        cause = first["ctx"]["error"]
        assert isinstance(cause, ValueError)
        return cause
    name = str(first["loc"][0])
    if first["type"] == "unexpected_keyword_argument":
        return _unknown(cls, name)
    return _setting(cls, name).refuse(first["input"], wrong_type=first["type"].endswith("_type"))


def _unknown(cls: Any, name: str) -> SettingError:
    names = list(_fields(cls))
    close = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(sorted(names))}"
    return SettingError("unknown setting ", name, f"; {hint}")


def _fields(cls: Any) -> dict[str, FieldInfo]:
    fields: dict[str, FieldInfo] = cls.__pydantic_fields__
    return fields


@dataclasses.dataclass(frozen=True)
class Setting:
    """What a field says, for those who make options and tables of it."""

    path: str
    """Name with the sections it is in, such as `learn.lr`."""
    heading: str
    """Help of its section; empty outside of one."""
    type: Any
    """Annotation of the field."""
    default: Any
    help: str
    bounds: Mapping[str, float]
    """`ge`, `gt`, `le`, `lt`, `multiple_of`, those there are; of a tuple those of its items."""
    option: str | None
    """With its dashes; None: no option."""
    aliases: tuple[str, ...]
    option_aliases: tuple[str, ...]
    constraints: tuple[Any, ...] = dataclasses.field(repr=False)
    """pydantic's."""

    @property
    def types(self) -> tuple[Any, ...]:
        """Types a value may have: int, float, bool, str, tuple, dict, NoneType."""
        if get_origin(self.type) is Literal:
            return tuple({type(choice) for choice in get_args(self.type)})
        if get_origin(self.type) in (tuple, dict):
            return (get_origin(self.type),)
        return get_args(self.type) or (self.type,)

    @property
    def choices(self) -> tuple[str, ...]:
        """Values it may have, if they are few and named."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def range(self) -> str:
        """Bounds as in `>= 1`, `> 0`, `in [0, 1)`; empty if there are none."""
        b = self.bounds
        low, high = b.get("ge", b.get("gt")), b.get("le", b.get("lt"))
        if low is not None and high is not None:
            text = f"in {'[' if 'ge' in b else '('}{low}, {high}{']' if 'le' in b else ')'}"
        elif low is not None:
            text = f"{'>=' if 'ge' in b else '>'} {low}"
        else:
            text = "" if high is None else f"{'<=' if 'le' in b else '<'} {high}"
        if "multiple_of" in b:
            even = "even" if b["multiple_of"] == 2 else f"a multiple of {b['multiple_of']}"
            text = f"{text} and {even}" if text else even
        return text

    def check(self, value: Any) -> Any:
        """The value as the setting keeps it.

        Raises:
            SettingError: another type, or out of range.
        """
        annotated: Any = Annotated
        whole = annotated[(self.type, pydantic.Field(), *self.constraints)]
        adapter: Any = pydantic.TypeAdapter(whole, config=_STRICT)
        try:
            return adapter.validate_python(value)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            raise self.refuse(first["input"], wrong_type=first["type"].endswith("_type")) from None

    def parse(self, text: str) -> Any:
        """The value that a text means: JSON, or the text itself; not checked yet."""
        if set(self.types) <= {str}:
            return text
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            pass
        for kind in (int, float):
            if kind in self.types:
                try:
                    return kind(text)
                except ValueError:
                    pass
        return text

    def refuse(self, value: Any, *, wrong_type: bool = False) -> SettingError:
        """The error for a value: of another type, or out of range."""
        name = self.path
        if self.choices:
            *others, last = self.choices
            return SettingError("expected ", name, f" {', '.join(others)} or {last}, found {value!r}")
        if tuple in self.types:
            return SettingError(f"expected numbers {self.range} for ", name, f", found {value!r}")
        if wrong_type or not self.range:
            kinds = [_TYPES[kind] for kind in self.types if kind in _TYPES]
            return SettingError(f"expected {' or '.join(kinds)} for ", name, f", found {value!r}")
        return SettingError("expected ", name, f" {self.range}, found {value!r}")


def all_settings(cls: Any) -> Iterator[Setting]:
    """All settings of a class, those of a section where the section stands."""
    return _walk(cls, "", "")


def _walk(cls: Any, path: str, heading: str) -> Iterator[Setting]:
    for name, field in _fields(cls).items():
        if dataclasses.is_dataclass(field.annotation):
            yield from _walk(field.annotation, f"{path}{name}.", field.description or "")
        else:
            yield _setting(cls, name, path, heading)


def _setting(cls: Any, name: str, path: str = "", heading: str = "") -> Setting:
    field = _fields(cls)[name]
    extra: Any = field.json_schema_extra
    bounds = {
        bound: getattr(part, bound)
        for part in (*field.metadata, *_of_items(field.annotation))
        for bound in ("ge", "gt", "le", "lt", "multiple_of")
        if hasattr(part, bound)
    }
    option = extra["option"]
    return Setting(
        path=path + name,
        heading=heading,
        type=field.annotation,
        default=field.get_default(call_default_factory=True),
        help=field.description or "",
        bounds=bounds,
        option=f"--{name.replace('_', '-')}" if option == "" else option,
        aliases=extra["aliases"],
        option_aliases=extra["option_aliases"],
        constraints=tuple(field.metadata),
    )


def _of_items(annotation: Any) -> list[Any]:
    """Bounds of the items of a `tuple[Annotated[float, Field(...)], ...]`."""
    items = get_args(annotation)[:1] if get_origin(annotation) is tuple else ()
    return [part for item in items for field in getattr(item, "__metadata__", ()) for part in field.metadata]


def _current_name(cls: Any, name: str) -> str:
    """Today's name of a field; an earlier one may be given."""
    for now, field in _fields(cls).items():
        extra: Any = field.json_schema_extra
        if name == now or name in extra["aliases"]:
            return now
    raise _unknown(cls, name)


def read_settings(cls: type[T], data: Any, path: str = "") -> T:
    """Settings from plain data, such as config.json holds; what is left out has its default.

    Args:
        cls: the class.
        data: a dict by name, a section a dict of its own; earlier names are read.
        path: the section they are for, with a dot at its end; for messages.

    Raises:
        ValueError: an unknown setting (the closest one is named), a value of another type or out of range.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"expected settings{path and f' for {path[:-1]}'}, found {type(data).__name__}")
    values: dict[str, Any] = {}
    try:
        for name, value in data.items():
            now = _current_name(cls, name)
            if now in values:
                raise SettingError("setting ", now, f" is given twice, once as {name}")
            values[now] = value
    except SettingError as error:
        raise error.within(path) from None
    for name, value in values.items():
        section = _fields(cls)[name].annotation
        if dataclasses.is_dataclass(section):
            values[name] = read_settings(section, value, f"{path}{name}.")  # type: ignore[arg-type]
    try:
        return cls(**values)
    except SettingError as error:
        raise error.within(path) from None


def parse_settings(cls: Any, pairs: Iterable[str]) -> dict[str, Any]:
    """Values by path, `{"learn.batch_size": 256}`, from texts such as `learn.batch_size=256`.

    Raises:
        ValueError: an unknown setting, no such text, or a value that the setting refuses.
    """
    values = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        *sections, last = name.split(".")
        owner, path = cls, ""
        for section in sections:
            owner, path = _section(owner, section, path, pair)
        try:
            now = _current_name(owner, last)
        except SettingError as error:
            raise error.within(path) from None
        if not equals or dataclasses.is_dataclass(_fields(owner)[now].annotation):
            raise ValueError(f"expected a setting such as learn.batch_size=256, found {pair!r}")
        found = _setting(owner, now, path)
        values[found.path] = found.check(found.parse(text))
    return values


def _section(owner: Any, name: str, path: str, pair: str) -> tuple[Any, str]:
    try:
        now = _current_name(owner, name)
    except SettingError as error:
        raise error.within(path) from None
    inner = _fields(owner)[now].annotation
    if not dataclasses.is_dataclass(inner):
        raise ValueError(f"expected a setting such as learn.batch_size=256, found {pair!r}")
    return inner, f"{path}{now}."


def change_settings(config: T, values: Mapping[str, Any]) -> T:
    """A copy of settings with some changed; `values` by path, as `parse_settings` gives them.

    Raises:
        ValueError: as `read_settings`.
    """
    data = dataclasses.asdict(config)  # type: ignore[call-overload]
    for path, value in values.items():
        *sections, last = path.split(".")
        functools.reduce(lambda place, section: place[section], sections, data)[last] = value
    return read_settings(type(config), data)
