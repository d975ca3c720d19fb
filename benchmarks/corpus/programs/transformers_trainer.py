"""Text classification with the Trainer of Hugging Face: a small model, evaluation, checkpoints."""

import os

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

LENGTH, EXAMPLES = 32, 1024


class Sentences(torch.utils.data.Dataset):
    """Sentences made up, of two kinds."""

    def __init__(self, count: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.labels = random.integers(0, 2, count)
        self.tokens = random.integers(5, 100, (count, LENGTH)) + 50 * self.labels[:, None]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict:
        return {"input_ids": torch.tensor(self.tokens[index]), "labels": int(self.labels[index])}


def accuracy(predicted):
    """Share of right answers."""
    return {"accuracy": float((predicted.predictions.argmax(-1) == predicted.label_ids).mean())}


torch.set_num_threads(1)
torch.manual_seed(0)
sizes = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}
config = BertConfig(vocab_size=200, num_hidden_layers=2, max_position_embeddings=64, **sizes)
arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=8,
    num_train_epochs=2,
    gradient_accumulation_steps=2,
    eval_strategy="epoch",
    save_strategy="epoch",
    logging_strategy="no",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
    seed=1,
)
trainer = Trainer(
    model=BertForSequenceClassification(config),
    args=arguments,
    train_dataset=Sentences(EXAMPLES, 0),
    eval_dataset=Sentences(64, 1),
    compute_metrics=accuracy,
)
trainer.remove_callback(PrinterCallback)
done = trainer.train()
if int(os.environ.get("RANK", "0")) == 0:
    print("steps", done.global_step)
    print(f"samples/s {done.metrics['train_samples_per_second']:.1f}", flush=True)
