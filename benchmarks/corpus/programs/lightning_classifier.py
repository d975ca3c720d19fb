"""An autoencoder in Lightning: training, validation, checkpoints."""

import time

import torch
from lightning import LightningModule, Trainer, seed_everything
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH, EPOCHS, EXAMPLES = 32, 3, 3200


class AutoEncoder(LightningModule):
    """Two small networks."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 784))
        self.seconds = []

    def training_step(self, batch, index):
        """Loss of one batch."""
        (images,) = batch
        return nn.functional.mse_loss(self.decoder(self.encoder(images)), images)

    def validation_step(self, batch, index):
        """Loss of one batch, not trained on."""
        (images,) = batch
        loss = nn.functional.mse_loss(self.decoder(self.encoder(images)), images)
        self.log("validation", loss, sync_dist=True)

    def configure_optimizers(self):
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=1e-3)

    def on_train_batch_start(self, batch, index):
        """Notes when."""
        self.seconds.append(time.time())


torch.set_num_threads(1)
seed_everything(0, verbose=False)
training = DataLoader(TensorDataset(torch.rand(EXAMPLES, 784)), BATCH, shuffle=True)
validation = DataLoader(TensorDataset(torch.rand(160, 784)), BATCH)
trainer = Trainer(
    accelerator="cpu",
    devices=2,
    strategy="ddp",
    max_epochs=EPOCHS,
    num_sanity_val_steps=1,
    enable_progress_bar=False,
    enable_model_summary=False,
    log_every_n_steps=5,
)
model = AutoEncoder()
trainer.fit(model, training, validation)
if trainer.is_global_zero:
    each = EXAMPLES // BATCH // 2
    spans = [model.seconds[i * each + each - 1] - model.seconds[i * each] for i in range(EPOCHS)]
    print("steps", trainer.global_step)
    print(f"samples/s {2 * BATCH * (each - 1) * EPOCHS / sum(spans):.1f}", flush=True)
