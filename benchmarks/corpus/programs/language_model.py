"""A recurrent language model trained with an update of the program's own, as tutorials do."""

import math
import time

import torch
from torch import nn

TOKENS, WIDTH, BATCH, LENGTH = 200, 64, 20, 35
LOG_EVERY = 20


class Model(nn.Module):
    """Embedding, LSTM, decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Embedding(TOKENS, WIDTH)
        self.rnn = nn.LSTM(WIDTH, WIDTH, 2)
        self.decoder = nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.encoder(tokens), hidden)
        return self.decoder(output).view(-1, TOKENS), hidden


def get_batch(source, start):
    """A window of the text and what follows each of its tokens."""
    length = min(LENGTH, len(source) - 1 - start)
    return source[start : start + length], source[start + 1 : start + 1 + length].reshape(-1)


def repackage(hidden):
    """The state without its history."""
    return tuple(part.detach() for part in hidden)


def evaluate(model, source):
    """Mean loss of a text."""
    model.eval()
    hidden = (torch.zeros(2, BATCH, WIDTH), torch.zeros(2, BATCH, WIDTH))
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(source) - 1, LENGTH):
            data, targets = get_batch(source, start)
            output, hidden = model(data, hidden)
            total += len(data) * nn.functional.cross_entropy(output, targets).item()
    return total / len(source)


def train(model, source, rate):
    """One epoch; returns its steps."""
    model.train()
    hidden = (torch.zeros(2, BATCH, WIDTH), torch.zeros(2, BATCH, WIDTH))
    steps = 0
    for start in range(0, len(source) - 1, LENGTH):
        data, targets = get_batch(source, start)
        model.zero_grad()
        hidden = repackage(hidden)
        output, hidden = model(data, hidden)
        nn.functional.cross_entropy(output, targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for parameter in model.parameters():
            parameter.data.add_(parameter.grad, alpha=-rate)
        steps += 1
    return steps


def main():
    """Two epochs."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    text = torch.randint(TOKENS, (60 * LENGTH + 1, BATCH))
    held_out = torch.randint(TOKENS, (8 * LENGTH + 1, BATCH))
    model, steps, begin = Model(), 0, time.time()
    for _ in range(2):
        steps += train(model, text, 2.0)
        loss = evaluate(model, held_out)
        print(f"perplexity {math.exp(loss):.3f}")
    print(f"steps {steps}")
    print(f"seconds {time.time() - begin:.3f}", flush=True)


if __name__ == "__main__":
    main()
