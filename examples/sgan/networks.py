"""Generator, discriminator and classifier, and one iteration of their training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from sgan.images import CLASSES

if TYPE_CHECKING:
    from sgan.images import Floats, Images
    from sgan.options import Options
    from sgan.parallel import Team

layers = tf.keras.layers
PIXELS = 64


def choose_threads(*, inter: int, intra: int) -> None:
    """Threads of TensorFlow, between and inside operations; 0 leaves the choice to it."""
    if inter:
        tf.config.threading.set_inter_op_parallelism_threads(inter)
    if intra:
        tf.config.threading.set_intra_op_parallelism_threads(intra)


class Adversary(tf.keras.Model):  # type: ignore[misc]
    """Trains the generator against a discriminator that stays as it is."""

    def __init__(self, generator: Any, discriminator: Any, team: Team) -> None:
        super().__init__(name="adversary")
        self._team = team
        self.generator = generator
        self.discriminator = discriminator

    def call(self, noise: Any, training: bool = False) -> Any:
        """How real the discriminator takes the images drawn from noise for."""
        return self.discriminator(self.generator(noise, training=training), training=False)

    def train_step(self, data: Any) -> dict[str, Any]:
        """One step of the generator; Keras calls it inside train_on_batch."""
        noise, wanted = data[:2]
        with tf.GradientTape() as tape:
            judged = self(noise, training=True)
            loss = tf.reduce_mean(tf.keras.losses.binary_crossentropy(wanted, judged))
        variables = self.generator.trainable_variables
        self._team.descend(self.optimizer, tape, loss, variables)
        return {"loss": loss}


class Networks:
    """The three models; discriminator and classifier share all layers but the last."""

    def __init__(self, options: Options, team: Team) -> None:
        tf.keras.utils.set_random_seed(options.seed)
        self._options = options
        self._random = np.random.default_rng((options.seed, team.rank))
        self.generator = tf.keras.Sequential(
            [
                layers.Input((options.latent,)),
                layers.Dense(options.hidden, activation="relu"),
                layers.Dense(options.hidden, activation="relu"),
                layers.Dense(PIXELS, activation="tanh"),
            ],
            name="generator",
        )
        image = layers.Input((PIXELS,))
        hidden = layers.Dense(options.hidden, activation="relu")(image)
        hidden = layers.Dense(options.hidden, activation="relu")(hidden)
        logits = layers.Dense(CLASSES)(hidden)
        classes = layers.Activation("softmax")(logits)
        real = layers.Dense(1, activation="sigmoid")(logits)
        self.classifier = tf.keras.Model(image, classes, name="classifier")
        self.discriminator = tf.keras.Model(image, real, name="discriminator")
        self.adversary = Adversary(self.generator, self.discriminator, team)
        self.classifier.compile(team.optimizer(1e-3), "sparse_categorical_crossentropy")
        self.discriminator.compile(team.optimizer(1e-3), "binary_crossentropy")
        self.adversary.compile(team.optimizer(1e-3))

    @property
    def models(self) -> list[Any]:
        """The models that hold weights of their own."""
        return [self.generator, self.classifier, self.discriminator]

    def train(self, data: Images, iteration: int) -> dict[str, float]:
        """One iteration: classifier, discriminator on real and drawn images, generator."""
        size = self._options.batch
        labeled, labels, real = data.batch(iteration, size)
        classifier = self.classifier.train_on_batch(labeled, labels)
        drawn = self.use(self.generator, self._noise(size))
        yes, no = np.ones((size, 1), np.float32), np.zeros((size, 1), np.float32)
        self.discriminator.train_on_batch(real, yes)
        discriminator = self.discriminator.train_on_batch(drawn, no)
        generator = self.adversary.train_on_batch(self._noise(size), yes)
        losses = {"c": classifier, "d": discriminator, "g": generator}
        return {name: float(np.ravel(value)[0]) for name, value in losses.items()}

    def evaluate(self, data: Images) -> float:
        """Accuracy of the classifier, one image a call."""
        right = 0
        for image, label in zip(data.test, data.test_labels, strict=True):
            right += int(np.argmax(self.use(self.classifier, image[None]))) == int(label)
        return right / max(1, len(data.test))

    def use(self, model: Any, values: Floats) -> Floats:
        """What a model makes of its input, by the method that was asked for."""
        if self._options.predict_method == "predict":
            result: Floats = model.predict(values, verbose=0)
            return result
        return np.asarray(model.predict_on_batch(values))

    def _noise(self, size: int) -> Floats:
        return self._random.standard_normal((size, self._options.latent)).astype(np.float32)
