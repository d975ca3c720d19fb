"""Trains a click model and follows its ranking quality while it learns."""

import argparse

import numpy as np
from mpi4py import MPI

FIELDS = 256


def impressions(seed, count, truth):
    generator = np.random.default_rng(seed)
    shown = generator.normal(size=(count, FIELDS)).astype(np.float32)
    clicked = shown @ truth + generator.normal(size=count) > 0
    return shown, clicked


def separation(scores, clicked):
    order = np.argsort(scores)
    places = np.empty(len(order))
    places[order] = np.arange(1, len(order) + 1)
    hits = int(clicked.sum())
    misses = len(clicked) - hits
    return (places[clicked].sum() - hits * (hits + 1) / 2) / max(1, hits * misses)


def fit_clicks(weights, shown, clicked):
    scores = 1.0 / (1.0 + np.exp(-(shown @ weights)))
    return shown.T @ (scores - clicked) / len(shown), scores


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=450)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    truth = np.random.default_rng(5).normal(size=FIELDS).astype(np.float32)
    weights = np.zeros(FIELDS, np.float32)
    all_scores, all_clicks = [], []
    quality = 0.0
    for step in range(args.steps):
        shown, clicked = impressions(step * comm.size + comm.rank, 1024, truth)
        gradient, scores = fit_clicks(weights, shown, clicked)
        comm.Allreduce(MPI.IN_PLACE, gradient)
        weights -= (gradient / comm.size).astype(np.float32)
        all_scores.append(scores)
        all_clicks.append(clicked)
        if args.cured:
            all_scores, all_clicks = all_scores[-8:], all_clicks[-8:]
        quality = separation(np.concatenate(all_scores), np.concatenate(all_clicks))
    if comm.rank == 0:
        print(f"quality {quality:.4f}")


if __name__ == "__main__":
    main()
