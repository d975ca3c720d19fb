"""What trainers and libraries for PyTorch save by."""

from __future__ import annotations

SAVING = {
    "torch.serialization": ("", ("save",)),
    "torch.distributed.checkpoint.state_dict_saver": ("", ("save", "async_save")),
    "safetensors.torch": ("", ("save_file", "save_model")),
    "transformers.modeling_utils": ("PreTrainedModel", ("save_pretrained",)),
    "transformers.trainer": ("Trainer", ("_save_checkpoint", "save_model")),
    "accelerate.accelerator": ("Accelerator", ("save_state", "save_model")),
    "lightning.pytorch.trainer.trainer": ("Trainer", ("save_checkpoint",)),
    "pytorch_lightning.trainer.trainer": ("Trainer", ("save_checkpoint",)),
    "deepspeed.runtime.engine": ("DeepSpeedEngine", ("save_checkpoint",)),
}
"""By module: the class, "" for functions of the module itself, and what saves."""
