"""The model card of an exported network, in the form that the Hugging Face Hub reads."""

import math
import re
from collections.abc import Mapping
from string import Template
from typing import Any

import yaml
from torch import Tensor

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.game.text import printable
from ckai.models.checkpoint import Checkpoint
from ckai.models.pretrained import CKAI, network_path

CONFIG, README = "config.json", "README.md"
"""Names that the Hub expects next to the weights."""
MOST = 200
"""Most characters of a text from a checkpoint, which may be a stranger's."""
SHOWN = ("top1_legal", "top5_legal", "policy_loss_legal", "policy_loss", "value_mse")
"""Metrics that the Hub itself shows."""
_HELD_OUT = "heldout_"
_CODE = """import json
from ckai.game import Position
from ckai.models import build, predict
from safetensors.torch import load_file

config = json.load(open("config.json"))
network = build(config["architecture"], config["settings"]).eval()
network.load_state_dict(load_file("FILE"))
policy, value = predict(network, [Position.start()])
print(policy.argmax(), value)"""
_CARD = Template("""---
$front---

# $name

A network for $game. For each position it gives logits of the moves, and a value
from -1 to 1 for the side to move. It was made with [ckai](https://github.com/ckai/ckai) and exported by its
version $ckai: architecture `$architecture` ($settings),
$weights weights, inputs `$encoding`. `$config` has the meaning of every input and output, and all that is
known of its training.

## Intended use

Playing, analysing and teaching $game, with a search or without one, and as the
start of further training. It knows no other game, and no rules: leave illegal moves out of its answers. Its
value says who is likely to win between players like those it learned from.

```python
$code
```

## What it learned from

$origin

## Metrics on held-out games

Shares are from 0 to 1; those with `_legal` leave illegal moves out. `ckai.models.evaluation.metrics` defines
each.

$metrics

## Licence

$licence
""")


def record(source: Checkpoint | None) -> dict[str, Any]:
    """Return the metrics and the origin that a checkpoint records, as plain data without tensors."""
    return {"metrics": _plain(source.metrics), "info": _plain(source.info)} if source else {}


def model_card(name: str, said: Mapping[str, Any], file: str, source: Checkpoint | None, weights: int) -> str:
    """Return the model card of a network.

    Args:
        name: of the network.
        said: see `ckai.models.inference.export.contract`.
        file: name of the file of weights.
        source: the checkpoint whose record the card tells; None: it has none.
        weights: their number.
    """
    found = record(source) or {"metrics": {}, "info": {}}
    metrics = {k.removeprefix(_HELD_OUT): v for k, v in found["metrics"].items() if k.startswith(_HELD_OUT)}
    metrics = {k: v for k, v in (metrics or found["metrics"]).items() if isinstance(v, int | float)}
    info = found["info"]
    data = {str(each.get("name")): f"{_text(each.get('rows'))} rows" for each in info.get("data", [])}
    origin = {k: v for k, v in info.items() if v is not None and not isinstance(v, dict | list)}
    code, checkers = _CODE.replace("FILE", file).splitlines(), said["game"] == DEFAULT_GAME_NAME
    ours = source is not None and source.path.parent == network_path(CKAI).parent
    name, game = _text(name), said["game"]
    front: dict[str, Any] = {
        "license": "mit" if ours else "unknown",
        "library_name": "ckai",
        "pipeline_tag": "reinforcement-learning",
        "tags": [*(["checkers", "draughts"] if checkers else [game]), said["architecture"]],
    }
    if shown := [{"type": key, "value": metrics[key]} for key in SHOWN if key in metrics]:
        result = {
            "task": {"type": "reinforcement-learning", "name": game},
            "dataset": {"type": "ckai-rows", "name": ", ".join(data) or "held-out games"},
            "metrics": shown,
        }
        front["model-index"] = [{"name": name, "results": [result]}]
    return _CARD.substitute(
        {**said, "settings": ", ".join(f"{key} {value}" for key, value in said["settings"].items())},
        front=yaml.safe_dump(front, sort_keys=False),
        name=name,
        game="checkers (8x8 English draughts)" if checkers else game,
        weights=f"{weights:,}",
        config=CONFIG,
        code="\n".join(each for each in code if checkers or not re.search("Position|policy", each)),
        origin=_table(data | origin) or "The checkpoint does not say.",
        metrics=_table(metrics) or "The checkpoint has none.",
        licence="MIT, as ckai's; `models/pretrained/README.md` of ckai says how it was made and how it plays."
        if ours
        else "None was chosen yet: put it here and after `license:` above, with regard to the data.",
    )


def _table(rows: Mapping[str, Any]) -> str:
    """Return rows of names and values; empty for none."""
    lines = [f"| {_text(name)} | {_text(value)} |" for name, value in rows.items()]
    return "\n".join(["| | |", "|---|---|", *lines]) if lines else ""


def _text(value: Any) -> str:
    """Return a value as text for a cell, without what Markdown would read as more than that."""
    form = "," if isinstance(value, int) else ".4g" if isinstance(value, float) else ""
    return " ".join("".join(" " if c in "|`<>[]" else c for c in f"{value:{form}}").split())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        each = ((k, v) for k, v in value.items() if not isinstance(v, Tensor))
        return {printable(str(k), MOST): _plain(v) for k, v in each}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, int) else printable(str(value), MOST)
