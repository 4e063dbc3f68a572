"""The fit of the shake recognizer's network, for Scripts/fit-shake."""
import collections

import numpy as np

from shake_recordings import FEATURES, TIME

UNITS = 12
NETWORKS = 4
# Passes over the rows, rows a step, first step size, decay of the weights, and noise added to the scaled features.
EPOCHS, BATCH, STEP, DECAY, NOISE = 15, 2048, 6e-3, 2e-3, 0.2
# Scaled features are limited to this, as in ShakeNetwork.swift.
FARTHEST = 4
# What a second of movement counts, by kind; and copies of it, in relation to the recording.
KINDS = {'daily': 1.0, 'sport': 0.5, 'vehicle': 1.0, 'machine': 1.0, 'other': 40.0, 'drop': 16.0, 'synthetic': 0.06}
COPIES = {'start': 0.8, 'cut': 0.5}
# What a set of synthetic shakes counts, and a clip that has fewer than four half waves.
SYNTHETIC_SHAKES, SHORT_SHAKE = 0.13, 0.25
# Shakes together count this much of everything else.
SHAKES = 0.5


class Movement:
    """The rows of a stretch of movement, and where they come from."""

    def __init__(self, rows, set_name, fold, how, kind, number=None, is_short=False):
        self.rows, self.set, self.fold, self.how, self.kind = rows, set_name, fold, how, kind
        self.number, self.is_short = number, is_short


def weigh(movements, rng):
    """Features, wanted values and weights of all rows. The rows of a shake share its weight, the rows of a second of
    other movement theirs. Sets of shakes count by the square root of their number."""
    groups = collections.defaultdict(list)
    for movement in movements:
        rows = movement.rows
        if movement.kind == 'shake':
            rows = rows[:40]
            weights = np.full(len(rows), (SHORT_SHAKE if movement.is_short else 1) / len(rows))
        else:
            _, second, count = np.unique(np.floor(rows[:, TIME]), return_inverse=True, return_counts=True)
            chosen = rng.random(len(rows)) < np.minimum(1, 12 / count[second])
            rows, second = rows[chosen], second[chosen]
            weights = 1 / np.bincount(second)[second]
        if len(rows):
            how = movement.how if movement.kind != 'shake' else movement.how.split()[0]
            groups[movement.kind, movement.set, how].append((rows, weights, movement.number))
    features, wanted, weights = [], [], []
    for (kind, _, how), members in groups.items():
        weight = np.concatenate([member[1] for member in members])
        if kind == 'shake':
            size = np.sqrt(len({member[2] for member in members})) * (SYNTHETIC_SHAKES if how == 'synthetic' else 1)
        else:
            size = KINDS[kind] * weight.sum() * COPIES.get(how, 1)
        features.append(np.concatenate([member[0][:, FEATURES:] for member in members]))
        weights.append(weight * size / weight.sum())
        wanted.append(np.full(len(weight), kind == 'shake', np.float32))
    features, wanted, weights = np.concatenate(features), np.concatenate(wanted), np.concatenate(weights)
    weights[wanted > 0] *= SHAKES * weights[wanted == 0].sum() / weights[wanted > 0].sum()
    return features, wanted, weights / weights.sum()


class Network:
    """Several networks, each a weighted sum of the features and of hidden units; their mean is one network."""

    def __init__(self, movements, seed, networks=NETWORKS):
        features, wanted, weights = weigh(movements, np.random.default_rng(seed))
        self.mean = (features * weights[:, None]).sum(0)
        self.deviation = np.sqrt(((features - self.mean) ** 2 * weights[:, None]).sum(0)) + 1e-3
        shakes = features[wanted > 0]
        self.typical = np.median(shakes, 0)
        # Many swings: the first three features say how few there are.
        self.typical[:3] = 0
        scaled = self.scale(features).astype(np.float32)
        parts = [fit(scaled, wanted, weights, np.random.default_rng(seed + 1 + n)) for n in range(networks)]
        self.hidden = np.concatenate([part[0] for part in parts], 1)
        self.hidden_bias = np.concatenate([part[1] for part in parts])
        self.output = np.concatenate([part[2] for part in parts]) / networks
        self.bias = np.mean([part[3] for part in parts])
        self.direct = np.mean([part[4] for part in parts], 0)

    def scale(self, features):
        return np.clip((features - self.mean) / self.deviation, -FARTHEST, FARTHEST)

    def round(self, digits=4):
        """Rounds the weights to what is written to the sources."""
        self.deviation = 1 / np.round(1 / self.deviation, digits)
        for name in ('mean', 'typical', 'hidden', 'hidden_bias', 'output', 'bias', 'direct'):
            setattr(self, name, np.round(getattr(self, name), digits))

    def likeness(self, rows):
        scaled = self.scale(rows[:, FEATURES:].astype(np.float64))
        inputs = scaled @ self.hidden + self.hidden_bias
        return inputs / (1 + np.abs(inputs)) @ self.output + scaled @ self.direct + self.bias

    def slope(self, rows):
        """The likeness that a factor e of size is worth: the three features of size change with it."""
        larger = rows.copy()
        larger[:, -3] += 0.2
        larger[:, -2:] = np.minimum(3, larger[:, -2:] * np.exp(0.2))
        return float(np.median(self.likeness(larger) - self.likeness(rows)) / 0.2)


def fit(features, wanted, weights, rng):
    """Minimises the weighted logistic loss with Adam. Rows are drawn by the root of their weight."""
    count, columns = features.shape
    odds = np.sqrt(weights)
    odds /= odds.sum()
    rest = (weights / odds).astype(np.float32)
    cumulated = np.cumsum(odds)
    parts = [rng.normal(size=(columns, UNITS)) / np.sqrt(columns), 0.5 * rng.normal(size=UNITS),
             rng.normal(size=UNITS) / np.sqrt(UNITS), np.zeros(1), np.zeros(columns)]
    parts = [part.astype(np.float32) for part in parts]
    means, squares = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    steps = EPOCHS * count // BATCH
    for step in range(steps):
        chosen = np.searchsorted(cumulated, rng.random(BATCH)).clip(0, count - 1)
        inputs = features[chosen] + NOISE * rng.standard_normal((BATCH, columns), np.float32)
        hidden, hidden_bias, output, bias, direct = parts
        sums = inputs @ hidden + hidden_bias
        damping = 1 / (1 + np.abs(sums))
        likeness = (sums * damping) @ output + inputs @ direct + bias
        slope = (1 / (1 + np.exp(-likeness)) - wanted[chosen]) * rest[chosen] / BATCH
        inner = np.outer(slope, output) * damping * damping
        slopes = [inputs.T @ inner + DECAY * hidden, inner.sum(0), (sums * damping).T @ slope + DECAY * output,
                  np.array([slope.sum()], np.float32), inputs.T @ slope + DECAY * direct]
        rate = STEP * 0.5 * (1 + np.cos(np.pi * step / steps))
        for index, gradient in enumerate(slopes):
            means[index] = 0.9 * means[index] + 0.1 * gradient
            squares[index] = 0.99 * squares[index] + 0.01 * gradient ** 2
            mean, square = means[index] / (1 - 0.9 ** (step + 1)), squares[index] / (1 - 0.99 ** (step + 1))
            parts[index] = parts[index] - (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
    return [part.astype(np.float64) for part in parts[:3]] + [float(parts[3][0]), parts[4].astype(np.float64)]
