"""Settings classes: a field defines the type, bounds, default, help and names of a setting.

    @settings
    class LearnConfig:
        lr: float = setting(default=5e-4, gt=0, help="Peak learning rate")

Such a class provides validation (`expected lr > 0, found -1`), reading of config.json (`read_settings`),
parsing of texts such as `learn.lr=0.001` (`parse_settings`), the options of a command
(`ckai.cli.shared.settings`) and the page docs/settings.md. Types are strict: a bool is not a number, but an
integer is valid for a float. Validation is pydantic's, which takes 0.1 s to import, so `ckai --help` must not
import this module. It imports neither numpy nor torch, which would slow down the help of a command.
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
TYPE_NAMES = {  # types of settings in words
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    dict: "a table",
}


class SettingError(ValueError):
    """An unknown setting or an invalid value; the message is one line that names the setting."""

    def __init__(self, before: str, name: str, after: str) -> None:
        """Create the error.

        Args:
            before: the message before the name.
            name: name of the setting.
            after: the message after the name.
        """
        super().__init__(before + name + after)
        self.parts = before, name, after

    def within(self, path: str) -> "SettingError":
        """Return the same error with the path of a section, which ends with a dot, before the name."""
        before, name, after = self.parts
        return SettingError(before, path + name, after.replace("did you mean ", f"did you mean {path}", 1))


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
) -> Any:
    """Declare a field of a settings class, or a section if its type is a settings class.

    Args:
        help: help text; for a section the heading of its options.
        default: default value.
        default_factory: creates the default, for sections and dicts.
        ge: inclusive lower bound.
        gt: exclusive lower bound.
        le: inclusive upper bound.
        lt: exclusive upper bound.
        multiple_of: factor that must divide the value.
        option: option on the command line; empty: `--` and the name; None: no option.
    """
    extra: dict[str, Any] = {"option": option}
    bounds = {"ge": ge, "gt": gt, "le": le, "lt": lt, "multiple_of": multiple_of}
    given: dict[str, Any] = {name: value for name, value in bounds.items() if value is not None}
    if default_factory is not None:
        given["default_factory"] = default_factory
    else:
        given["default"] = default
        if isinstance(default, tuple):
            given["strict"] = False  # JSON has only lists; the items stay strict
    return pydantic.Field(description=help, json_schema_extra=extra, **given)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(setting,))
def settings(cls: type[T]) -> type[T]:
    """Turn a class into a frozen, keyword-only dataclass that validates its values.

    Creating an instance raises SettingError for an invalid value, and any ValueError of a `__post_init__`.
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
    """Convert the first error of pydantic to a SettingError."""
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
    """The declaration of a setting, for options and documentation."""

    path: str
    """Name with its sections, such as `learn.lr`."""
    heading: str
    """Help of its section; empty outside of a section."""
    type: Any
    """Annotation of the field."""
    default: Any
    help: str
    bounds: Mapping[str, float]
    """`ge`, `gt`, `le`, `lt`, `multiple_of`, as far as given; for a tuple those of its items."""
    option: str | None
    """Option with its dashes; None: no option."""
    constraints: tuple[Any, ...] = dataclasses.field(repr=False)
    """Constraints of pydantic."""

    @property
    def types(self) -> tuple[Any, ...]:
        """Types of valid values: int, float, bool, str, tuple, dict, NoneType."""
        if get_origin(self.type) is Literal:
            return tuple({type(choice) for choice in get_args(self.type)})
        if get_origin(self.type) in (tuple, dict):
            return (get_origin(self.type),)
        return get_args(self.type) or (self.type,)

    @property
    def choices(self) -> tuple[str, ...]:
        """Valid values of a Literal, otherwise empty."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def range(self) -> str:
        """Bounds as text: `>= 1`, `> 0`, `in [0, 1)`; empty without bounds."""
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
        """Validate a value and return it as the setting stores it.

        Raises:
            SettingError: a wrong type, or out of range.
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
        """Parse a text as JSON, or return it unchanged; does not validate."""
        if set(self.types) <= {str}:
            return text
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            pass
        for number in (int, float):
            if number in self.types:
                try:
                    return number(text)
                except ValueError:
                    pass
        return text

    def refuse(self, value: Any, *, wrong_type: bool = False) -> SettingError:
        """Return the error for an invalid value.

        Args:
            value: the value.
            wrong_type: whether its type is wrong; otherwise it is out of range.
        """
        name = self.path
        if self.choices:
            *others, last = self.choices
            return SettingError("expected ", name, f" {', '.join(others)} or {last}, found {value!r}")
        if tuple in self.types:
            return SettingError(f"expected numbers {self.range} for ", name, f", found {value!r}")
        if wrong_type or not self.range:
            types = [TYPE_NAMES[each] for each in self.types if each in TYPE_NAMES]
            return SettingError(f"expected {' or '.join(types)} for ", name, f", found {value!r}")
        return SettingError("expected ", name, f" {self.range}, found {value!r}")


def all_settings(cls: Any) -> Iterator[Setting]:
    """Iterate over the settings of a class, including those of its sections, in order."""
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
        constraints=tuple(field.metadata),
    )


def _of_items(annotation: Any) -> list[Any]:
    """Return the bounds of the items of a `tuple[Annotated[float, Field(...)], ...]`."""
    items = get_args(annotation)[:1] if get_origin(annotation) is tuple else ()
    return [part for item in items for field in getattr(item, "__metadata__", ()) for part in field.metadata]


def read_settings(cls: type[T], data: Any, path: str = "") -> T:
    """Read settings from plain data, such as config.json; missing ones have their defaults.

    Args:
        cls: the settings class.
        data: values by name, with a dict for each section.
        path: section of the settings, ending with a dot, for messages.

    Raises:
        ValueError: an unknown setting (names the closest), a wrong type or a value out of range.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"expected a JSON object{path and f' for {path[:-1]}'}, found {type(data).__name__}")
    values = dict(data)
    for name, value in values.items():
        if name not in _fields(cls):
            raise _unknown(cls, name).within(path)
        section = _fields(cls)[name].annotation
        if dataclasses.is_dataclass(section):
            values[name] = read_settings(section, value, f"{path}{name}.")  # type: ignore[arg-type]
    try:
        return cls(**values)
    except SettingError as error:
        raise error.within(path) from None


def parse_settings(cls: Any, pairs: Iterable[str]) -> dict[str, Any]:
    """Parse texts such as `learn.batch_size=256`.

    Args:
        cls: the settings class.
        pairs: the texts.

    Returns:
        Values by path, `{"learn.batch_size": 256}`.

    Raises:
        ValueError: a malformed text, an unknown setting or an invalid value.
    """
    values = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        target = find_setting(cls, name, pair)
        if not equals:
            raise ValueError(f"expected a setting such as learn.batch_size=256, found {pair!r}")
        values[target.path] = target.check(target.parse(text))
    return values


def find_setting(cls: Any, name: str, text: str = "") -> Setting:
    """Return the declaration of a setting.

    Args:
        cls: the settings class.
        name: name with its sections, such as `learn.lr`.
        text: the text that has the name, for messages.

    Raises:
        ValueError: an unknown setting (names the closest), or the name of a section.
    """
    *sections, last = name.split(".")
    owner, path = cls, ""
    for section in sections:
        owner, path = _section(owner, section, path, text or name)
    if last not in _fields(owner):
        raise _unknown(owner, last).within(path)
    if dataclasses.is_dataclass(_fields(owner)[last].annotation):
        raise ValueError(f"expected a setting such as learn.batch_size=256, found {text or name!r}")
    return _setting(owner, last, path)


def _section(owner: Any, name: str, path: str, pair: str) -> tuple[Any, str]:
    if name not in _fields(owner):
        raise _unknown(owner, name).within(path)
    inner = _fields(owner)[name].annotation
    if not dataclasses.is_dataclass(inner):
        raise ValueError(f"expected a setting such as learn.batch_size=256, found {pair!r}")
    return inner, f"{path}{name}."


def change_settings(config: T, values: Mapping[str, Any]) -> T:
    """Return a copy of settings with some changed.

    Args:
        config: the settings.
        values: new values by path, as from `parse_settings`.

    Raises:
        ValueError: as `read_settings`.
    """
    data = dataclasses.asdict(config)  # type: ignore[call-overload]
    for path, value in values.items():
        *sections, last = path.split(".")
        functools.reduce(lambda place, section: place[section], sections, data)[last] = value
    return read_settings(type(config), data)
