"""Settings classes: a field defines the type, bounds, default, help and names of a setting.

    @settings
    class LearnConfig:
        lr: float = setting(default=5e-4, gt=0, help="Peak learning rate")

Such a class is a frozen dataclass of pydantic whose errors are one line, `lr: expected greater than 0, found
-1`. Its fields serve config.json (`read_settings`), texts such as `learn.lr=0.001` (`parse_settings`),
options of a command (`ckai.cli.shared.options`) and the page docs/settings.md. Types are strict: a bool is
not a number, but an integer is valid for a float. Importing pydantic takes 0.1 s, so `ckai --help` must not
import this module, and it imports neither numpy nor torch.
"""

import dataclasses
import difflib
import functools
import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from operator import getitem
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

import pydantic
from pydantic.fields import FieldInfo

T = TypeVar("T")

STRICT = pydantic.ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""What a plain dataclass needs as `__pydantic_config__` for `read_settings`."""
FEW = 12
"""Most settings that a message lists."""
_BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "multiple_of": "a multiple of"}


def setting(*, help: str, option: str | None = None, **field: Any) -> Any:
    """Declare a field of a settings class, or a section if its type is a settings class.

    Args:
        help: help text; for a section the heading of its options.
        option: option on the command line, such as `--lr`; None: no option, only `--setting`.
        field: of pydantic: `default`, or `default_factory` for sections and dicts; the bounds `ge`, `gt`,
            `le`, `lt` and `multiple_of`.
    """
    if isinstance(field.get("default"), tuple):
        field["strict"] = False  # JSON has only lists; the items stay strict
    return pydantic.Field(description=help, json_schema_extra={"option": option}, **field)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(setting,))
def settings(cls: type[T]) -> type[T]:
    """Turn a class into a frozen, keyword-only dataclass that validates its values.

    Creating an instance raises ValueError for an invalid value, and any ValueError of a `__post_init__`.
    """
    made: Any = pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=STRICT)(cls)
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
    """Convert the first error of pydantic to one line."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # of a __post_init__
        cause: ValueError = first["ctx"]["error"]
        return cause
    path = ".".join(map(str, first["loc"]))
    if first["type"] == "unexpected_keyword_argument":
        return _unknown([one.path for one in all_settings(cls)], path)
    return _refusal(path, error)


def _refusal(path: str, error: pydantic.ValidationError) -> ValueError:
    first = error.errors()[0]
    wanted = first["msg"].removeprefix("Input should be ")
    return ValueError(f"{path or 'settings'}: expected {wanted}, found {reprlib.repr(first['input'])}")


def _unknown(known: list[str], path: str) -> ValueError:
    close = difflib.get_close_matches(path, known, 1, 0.75)
    every = f"expected one of {', '.join(known)}" if len(known) <= FEW else "docs/settings.md lists them"
    hint = f"did you mean {close[0]}?" if close else every
    return ValueError(f"unknown setting {path}; {hint}")


def _fields(cls: Any) -> dict[str, FieldInfo]:
    fields: dict[str, FieldInfo] | None = getattr(cls, "__pydantic_fields__", None)
    if fields is None:  # a plain dataclass, such as the settings of a network
        hints, declared = get_type_hints(cls), dataclasses.fields(cls)
        fields = {f.name: FieldInfo.from_annotated_attribute(hints[f.name], f.default) for f in declared}
    return fields


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting, for options and documentation."""

    path: str
    """Name with its sections, such as `learn.lr`."""
    heading: str
    """Help of its section; empty outside of a section."""
    field: FieldInfo
    default: Any
    help: str
    option: str | None
    """Option with its dashes; None: no option but `--setting`."""

    @property
    def types(self) -> tuple[Any, ...]:
        """Types of valid values: int, float, bool, str, tuple, dict, NoneType."""
        annotation = self.field.annotation
        if get_origin(annotation) is Literal:
            return tuple({type(choice) for choice in get_args(annotation)})
        if get_origin(annotation) in (tuple, dict):
            return (get_origin(annotation),)
        return get_args(annotation) or (annotation,)

    @property
    def choices(self) -> tuple[str, ...]:
        """Valid values of a Literal, otherwise empty."""
        return get_args(self.field.annotation) if get_origin(self.field.annotation) is Literal else ()

    @property
    def range(self) -> str:
        """Bounds as text, such as `> 0, <= 1`; for a tuple the bounds of its items; empty if none."""
        parts = list(self.field.metadata)
        if tuple in self.types:  # tuple[Annotated[float, Field(...)], ...]
            item = get_args(self.field.annotation)[0]
            parts += [part for inner in getattr(item, "__metadata__", ()) for part in inner.metadata]
        found = [(name, part) for name in _BOUNDS for part in parts if hasattr(part, name)]
        return ", ".join(f"{_BOUNDS[name]} {getattr(part, name)}" for name, part in found)

    def check(self, value: Any) -> Any:
        """Validate a value and return it as the setting stores it.

        Raises:
            ValueError: a wrong type, or out of range.
        """
        whole: Any = getitem(Annotated, (self.field.annotation, self.field))
        try:
            return pydantic.TypeAdapter(whole, config=STRICT).validate_python(value)
        except pydantic.ValidationError as error:
            raise _refusal(self.path, error) from None

    def parse(self, text: str) -> Any:
        """Parse a text as JSON, or return it unchanged; does not validate."""
        if set(self.types) <= {str}:
            return text
        for read in (json.loads, *(number for number in (int, float) if number in self.types)):
            try:
                return read(text)
            except ValueError:
                pass
        return text


def all_settings(cls: Any, path: str = "", heading: str = "") -> Iterator[Setting]:
    """Iterate over the settings of a class, including those of its sections, in order."""
    for name, field in _fields(cls).items():
        if is_dataclass(field.annotation):
            yield from all_settings(field.annotation, f"{path}{name}.", field.description or "")
        else:
            extra: Any = field.json_schema_extra or {}
            default, help = field.get_default(call_default_factory=True), field.description or ""
            yield Setting(path + name, heading, field, default, help, extra.get("option"))


def read_settings(cls: type[T], data: Any) -> T:
    """Read settings from plain data, such as config.json; missing ones have their defaults.

    Raises:
        ValueError: an unknown setting (names the closest), a wrong type or a value out of range.
        TypeError: data that are not plain.
    """
    try:
        # As JSON, which may have lists for tuples and objects for sections.
        read: T = pydantic.TypeAdapter(cls).validate_json(json.dumps(data))
    except pydantic.ValidationError as error:
        raise _readable(cls, error) from None
    return read


def parse_settings(cls: Any, pairs: Iterable[str]) -> dict[str, Any]:
    """Parse texts such as `learn.batch_size=256`: values by path, `{"learn.batch_size": 256}`.

    Raises:
        ValueError: a malformed text, an unknown setting or an invalid value.
    """
    known = {one.path: one for one in all_settings(cls)}
    values = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if name not in known:
            raise _unknown(list(known), name)
        if not equals:
            raise ValueError(f"expected {name}=VALUE, found {pair!r}")
        values[name] = known[name].check(known[name].parse(text))
    return values


def change_settings(config: T, values: Mapping[str, Any]) -> T:
    """Return a copy of settings with some changed, by path as from `parse_settings`.

    Raises:
        ValueError: as `read_settings`.
    """
    data = asdict(config)  # type: ignore[call-overload]
    for path, value in values.items():
        *sections, last = path.split(".")
        functools.reduce(lambda place, section: place[section], sections, data)[last] = value
    return read_settings(type(config), data)


def flat_settings(tree: dict[str, Any], name: str = "") -> dict[str, Any]:
    """Nested settings as one dict with dotted names."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        inner = f"{name}.{key}" if name else key
        flat |= flat_settings(value, inner) if isinstance(value, dict) else {inner: value}
    return flat
