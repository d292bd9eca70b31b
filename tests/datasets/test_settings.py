"""Settings from one source: checked, read and written by their fields."""

import json
import pickle
import re
from dataclasses import FrozenInstanceError, asdict, replace
from typing import Annotated, Literal

import pytest
from pydantic import Field

from ckai.datasets.settings import (
    all_settings,
    change_settings,
    parse_settings,
    read_settings,
    setting,
    settings,
)


@settings
class Engine:
    """A section."""

    power: float = setting(default=1.5, gt=0, le=400, help="Power")
    gears: int = setting(default=5, ge=1, help="Gears", option="--engine-gears")
    fuel: Literal["petrol", "gas", "none"] = setting(default="petrol", help="Fuel")
    turbo: bool = setting(default=False, help="Use a turbo")


@settings
class Car:
    """All kinds of settings."""

    name: str = setting(default="", help="Name", option=None)
    wheels: int = setting(default=4, ge=0, multiple_of=2, help="Wheels")
    load: float | None = setting(default=None, ge=0, lt=1, help="Load")
    stops: tuple[Annotated[float, Field(gt=0)], ...] = setting(default=(), help="Stops")
    extras: dict[str, int] = setting(default_factory=dict, help="Extras", option=None)
    engine: Engine = setting(default_factory=Engine, help="Engine")

    def __post_init__(self) -> None:
        if self.load and not self.wheels:
            raise ValueError("expected wheels under a load, found none")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"power": 0}, "power: expected greater than 0, found 0"),
        ({"power": float("nan")}, "power: expected a finite number, found nan"),
        ({"power": True}, "power: expected a valid number, found True"),
        ({"gears": 5.0}, "gears: expected a valid integer, found 5.0"),
        ({"fuel": "coal"}, "fuel: expected 'petrol', 'gas' or 'none', found 'coal'"),
        ({"turbo": 1}, "turbo: expected a valid boolean, found 1"),
        ({"geers": 3}, "unknown setting geers; did you mean gears?"),
    ],
)
def test_wrong_values_are_refused_in_one_line(given, message):
    with pytest.raises(ValueError, match=next(iter(given))) as made:
        Engine(**given)
    with pytest.raises(ValueError, match=next(iter(given))) as read:
        read_settings(Car, {"engine": given})
    assert str(made.value) == message
    [name] = given
    assert str(read.value) == message.replace(name, f"engine.{name}", 1).replace("mean ", "mean engine.")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"wheels": 3}, "wheels: expected a multiple of 2, found 3"),
        ({"load": 1}, "load: expected less than 1, found 1"),
        ({"stops": [1, -1]}, "stops.1: expected greater than 0, found -1"),
        ({"engine": 3}, "engine: expected an object, found 3"),
        (
            {"enigne": {}},
            "unknown setting enigne; expected one of name, wheels, load, stops, extras, engine.power, "
            "engine.gears, engine.fuel, engine.turbo",
        ),
        ([], "settings: expected an object, found []"),
        ({"load": 0.5, "wheels": 0}, "expected wheels under a load, found none"),
    ],
)
def test_wrong_data_is_refused_in_one_line(data, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_settings(Car, data)
    assert str(caught.value) == message


def test_what_is_written_is_read():
    car = Car(
        name="a", wheels=6, load=0.5, stops=(1, 2.5), extras={"horn": 1}, engine=Engine(fuel="gas", gears=3)
    )
    data = json.loads(json.dumps(asdict(car)))
    assert read_settings(Car, data) == car
    assert read_settings(Car, {}) == Car()
    assert pickle.loads(pickle.dumps(car)) == car
    assert replace(car, wheels=4).wheels == 4
    with pytest.raises(ValueError, match="wheels"):
        replace(car, wheels=5)
    with pytest.raises(FrozenInstanceError):
        car.wheels = 2


def test_a_whole_number_is_fine_for_a_float_and_becomes_one():
    engine = Engine(power=2)
    assert (engine.power, type(engine.power)) == (2.0, float)
    assert Car(stops=[1]).stops == (1.0,)


def test_settings_as_texts():
    texts = ["engine.power=.5", "engine.gears=7", "engine.turbo=true", "load=null", "name=12", "stops=[1, 2]"]
    car = change_settings(Car(load=0.5), parse_settings(Car, texts))
    assert car == Car(name="12", stops=(1, 2), engine=Engine(power=0.5, gears=7, turbo=True))
    for text, message in {
        "engine.gears=many": "engine.gears: expected a valid integer, found 'many'",
        "engine.geers=7": "unknown setting engine.geers; did you mean engine.gears?",
        "engin.gears=7": "unknown setting engin.gears; did you mean engine.gears?",
        "wheels": "expected wheels=VALUE, found 'wheels'",
    }.items():
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            parse_settings(Car, [text])
        assert str(caught.value) == message


def test_a_field_describes_itself():
    found = {one.path: one for one in all_settings(Car)}
    assert list(found) == [
        "name", "wheels", "load", "stops", "extras",
        "engine.power", "engine.gears", "engine.fuel", "engine.turbo",
    ]  # fmt: skip
    power, gears = found["engine.power"], found["engine.gears"]
    assert (power.heading, power.default, power.help, power.range) == ("Engine", 1.5, "Power", "> 0, <= 400")
    assert (power.option, gears.option) == (None, "--engine-gears")
    assert found["engine.fuel"].choices == ("petrol", "gas", "none")
    assert (found["load"].range, found["engine.turbo"].range) == (">= 0, < 1", "")
    assert (found["extras"].default, found["load"].default) == ({}, None)
    assert gears.check(3) == 3
