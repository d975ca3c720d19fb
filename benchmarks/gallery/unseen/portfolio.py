"""Estimates the risk of portfolios from a table of trades, on one process."""

import argparse

import numpy as np
import pandas as pd


def trades(count):
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "asset": generator.integers(0, 50, count),
            "amount": generator.normal(100.0, 20.0, count),
            "price": generator.random(count) + 1.0,
        }
    )


def exposures(table, cured):
    totals = np.zeros(50)
    if cured:
        np.add.at(totals, table["asset"].to_numpy(), (table["amount"] * table["price"]).to_numpy())
        return totals
    for _, row in table.iterrows():
        totals[int(row["asset"])] += row["amount"] * row["price"]
    return totals


def simulate(totals, generator):
    moves = generator.normal(size=(20000, 50))
    return float(np.quantile(moves @ totals, 0.05))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    table = trades(200_000)
    generator = np.random.default_rng(2)
    risk = 0.0
    for step in range(args.steps):
        batch = table.iloc[step * 400 : (step + 1) * 400]
        risk = 0.9 * risk + 0.1 * simulate(exposures(batch, args.cured), generator)
    print(f"risk {risk:.2f}")


if __name__ == "__main__":
    main()
