"""Networks: what they see, the architectures by name, training, checkpoints, evaluators, export.

Owns everything with weights; contains no search. The names below are the public ones; importing this package
loads neither them nor torch until they are used.
"""

from typing import TYPE_CHECKING

from ckai.datasets.choices import lazy_exports

if TYPE_CHECKING:
    from ckai.models.checkpoint import (
        Checkpoint,
        CheckpointError,
        load_checkpoint,
        load_network,
        save_checkpoint,
    )
    from ckai.models.encodings import Encoding, encoding_type
    from ckai.models.evaluation import Evaluation, evaluate_checkpoint, measure
    from ckai.models.inference.backends import Predictions, TorchEvaluator, make_evaluator, predict
    from ckai.models.inference.evaluator import BackendError, Evaluator, pack_positions, pack_rows
    from ckai.models.inference.export import export_network
    from ckai.models.network import Network, NetworkSettings, build, names, register, require_at_least
    from ckai.models.training.config import LossConfig, OptimizerConfig, PretrainConfig, TrainConfig
    from ckai.models.training.lightning_module import PolicyValueModule
    from ckai.models.training.pretrain import PretrainResult, pretrain
    from ckai.models.training.trainer import TrainingError, TrainingProgress
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "BackendError",
    "Checkpoint",
    "CheckpointError",
    "Encoding",
    "Evaluation",
    "Evaluator",
    "LossConfig",
    "Network",
    "NetworkSettings",
    "OptimizerConfig",
    "PolicyValueModule",
    "Predictions",
    "PretrainConfig",
    "PretrainResult",
    "TorchEvaluator",
    "TrainConfig",
    "TrainingError",
    "TrainingProgress",
    "build",
    "encoding_type",
    "evaluate_checkpoint",
    "export_network",
    "load_checkpoint",
    "load_network",
    "make_evaluator",
    "measure",
    "names",
    "pack_positions",
    "pack_rows",
    "predict",
    "pretrain",
    "register",
    "require_at_least",
    "save_checkpoint",
]
