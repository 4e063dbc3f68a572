"""Varied and synthetic movements for Scripts/fit-shake, so that a fit does not depend on how a recording was made."""
import numpy as np

from shake_recordings import GRAVITY

RATE = 200


def interpolate(samples, times, width=4):
    """Band-limited (Lanczos) interpolation of nearly uniform samples: a slow sensor cuts off the peaks between."""
    place = np.interp(times, samples[:, 0], np.arange(len(samples)))
    floor, total, weights = np.floor(place).astype(int), np.zeros((len(times), 3)), np.zeros(len(times))
    for offset in range(1 - width, width + 1):
        distance = place - (floor + offset)
        weight = np.sinc(distance) * np.sinc(distance / width)
        total += weight[:, None] * samples[np.clip(floor + offset, 0, len(samples) - 1), 1:]
        weights += weight
    return total / weights[:, None]


def upsample(samples, rate=RATE):
    times = np.arange(samples[0, 0], samples[-1, 0], 1 / rate)
    return times, interpolate(samples, times)


def gravity(times, values, seconds=1.0):
    """The mean over a second before and after each sample."""
    reach = max(1, int(seconds / np.median(np.diff(times))))
    sums = np.cumsum(np.vstack([np.zeros(3), values]), 0)
    low = np.maximum(0, np.arange(len(values)) - reach)
    high = np.minimum(len(values), np.arange(len(values)) + reach + 1)
    return (sums[high] - sums[low]) / (high - low)[:, None]


def spread(rng, low, high):
    """A number between two others, uniform in its logarithm."""
    return np.exp(rng.uniform(np.log(low), np.log(high)))


def direction(rng):
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def across(rng, axis):
    vector = np.cross(axis, rng.normal(size=3))
    return vector / np.linalg.norm(vector)


def rotation(rng, angle=None):
    """A rotation about any axis: any, or by an angle."""
    w, x, y, z = np.append(np.cos(angle / 2), np.sin(angle / 2) * direction(rng)) if angle is not None else \
        (lambda q: q / np.linalg.norm(q))(rng.normal(size=4))
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def alignment(old, new):
    """The shortest rotation from one direction to another."""
    old, new = old / np.linalg.norm(old), new / np.linalg.norm(new)
    axis, cosine = np.cross(old, new), old @ new
    if cosine < -0.999:
        side = np.cross(old, [1, 0, 0] if abs(old[0]) < 0.8 else [0, 1, 0])
        side /= np.linalg.norm(side)
        return 2 * np.outer(side, side) - np.eye(3)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + cross + cross @ cross / (1 + cosine)


def sway(rng, times, size, frequency):
    """Smooth noise."""
    knots = int((times[-1] - times[0]) * frequency * 2) + 4
    track = np.column_stack([np.arange(knots), rng.normal(size=(knots, 3))])
    return size * interpolate(track, (times - times[0]) * frequency * 2, 3)


def ramp(times, start, duration):
    return np.clip((times - start) / duration, 0, 1)


def sense(rng, times, values, rate=None, limit=None):
    """Samples a movement with a sensor of some rate, range, noise and phase, with or without a low-pass."""
    rate = rate or rng.choice([20, 25, 50, 62.5, 100, 100, RATE])
    moments = times[0] + rng.random() / rate + np.arange(int((times[-1] - times[0]) * rate) - 1) / rate

    def at(track, moments):
        return np.column_stack([np.interp(moments, times, track[:, axis]) for axis in range(3)])
    if rate <= 62.5 and rng.random() < 0.5:
        steps = 0.5 * (values[1:] + values[:-1]) * np.diff(times)[:, None]
        sums = np.vstack([np.zeros(3), np.cumsum(steps, 0)])
        samples = (at(sums, moments + 0.5 / rate) - at(sums, moments - 0.5 / rate)) * rate
        samples[0], samples[-1] = samples[1], samples[-2]
    else:
        samples = at(values, moments)
    samples = samples + rng.normal(size=samples.shape) * rng.choice([0.0025, 0.005, 0.01, 0.025]) * GRAVITY
    limit = (limit or rng.choice([2, 4, 8, 16], p=[0.2, 0.4, 0.2, 0.2])) * GRAVITY
    return np.column_stack([moments, np.clip(samples, -limit, limit)])


# Shakes

def cut_shakes(recording):
    """The shakes of a recording by themselves: times, linear acceleration, gravity, duration. Long ones in pieces."""
    for start, end in recording.shakes:
        pieces = [(start, end)] if end - start <= 3 else [(s, s + 1.6) for s in np.arange(start + 0.3, end - 1.8, 2.5)]
        for first, last in pieces:
            times = recording.samples[:, 0]
            samples = recording.samples[(times >= first - 0.15) & (times <= last + 0.15)]
            if len(samples) < 8:
                continue
            times, values = upsample(samples)
            mean = values[(times >= first) & (times <= last)].mean(0)
            size = np.linalg.norm(mean)
            up = mean / size * GRAVITY if size > 0.3 * GRAVITY else np.array([0, 0, GRAVITY])
            window = ramp(times, first - 0.15, 0.12) * (1 - ramp(times, last + 0.03, 0.12))
            yield times - first, (values - mean) * window[:, None], up, last - first


def vary_shake(rng, shake, number):
    """The shake itself as number 0, else slower or faster, stronger or weaker; from 2 on also in other directions."""
    times, linear, up, duration = shake
    peak = np.quantile(np.linalg.norm(linear, axis=1), 0.95) / GRAVITY
    pace, size = (spread(rng, 0.75, 1.6), spread(rng, 0.5, 1.5)) if number > 0 else (1, 1)
    size = 1 if peak < 0.75 else max(size, 0.75 / peak)
    turn = rotation(rng) if number > 1 and rng.random() < 0.5 else np.eye(3)
    return times * pace, size * linear @ turn.T, up, duration * pace


def synthetic_shake(rng):
    frequency, count, peak = spread(rng, 2, 6.5), rng.integers(4, 14), spread(rng, 0.9, 4)
    lengths = 0.5 / frequency * (1 + 0.1 * rng.normal(size=count)).clip(0.6, 1.5)
    peaks = peak * (1 + 0.15 * rng.normal(size=count)).clip(0.5, 1.6)
    attack = rng.choice([1, 1, 2, 3])
    peaks[:attack] *= np.linspace(0.45, 1, attack + 1)[:attack] if attack > 1 else rng.uniform(0.6, 1)
    edges = np.append(0, np.cumsum(lengths))
    times = np.arange(-0.1, edges[-1] + 0.1, 1 / RATE)
    phase = np.interp(times, edges, np.arange(count + 1) * np.pi, left=0, right=count * np.pi)
    size = np.interp(times, edges[:-1] + lengths / 2, peaks)
    along = size * (np.sin(phase) + rng.uniform(-0.25, 0.35) * np.sin(3 * phase))
    side = size * rng.uniform(0, 0.35) * (
        np.sin(phase + rng.uniform(-1.5, 1.5)) * rng.uniform(0.3, 1) + 0.5 * rng.random() * np.cos(2 * phase))
    axis = direction(rng)
    other = across(rng, axis)
    inside = (times > 0) & (times < edges[-1])
    linear = GRAVITY * (along[:, None] * axis + side[:, None] * other) * inside[:, None]
    up = GRAVITY * direction(rng)
    # The hand turns with the swings, so that gravity wanders in the board.
    angle = np.radians(rng.uniform(0, 25)) * np.sin(phase + rng.uniform(-0.6, 0.6) + np.pi) * inside
    linear += np.sin(angle)[:, None] * np.cross(other, up)
    linear -= (1 - np.cos(angle))[:, None] * (up - other * (other @ up))
    return times, linear, up, edges[-1]


def place(rng, shake, quiet, walking, is_plain=False):
    """A shake out of stillness, everyday quiet, a hand that picks the board up, or walking; and its start."""
    shake_times, linear, up, _ = shake
    start = rng.choice([1.2, 3, 6, 13], p=[0.1, 0.3, 0.3, 0.3])
    times = np.arange(0, start + shake_times[-1] - shake_times[0] + 2, 1 / RATE)
    how = rng.random()
    if is_plain or how < 0.4:
        values = up + sway(rng, times, rng.choice([0.002, 0.01, 0.02]) * GRAVITY, 3)
    elif 0.72 <= how < 0.9:
        duration = rng.uniform(0.4, 1.2)
        pick_up = np.sin(np.pi * ramp(times, start - duration - rng.uniform(0, 0.8), duration)) ** 2
        values = up + sway(rng, times, 0.01 * GRAVITY, 3)
        values += sway(rng, times, rng.uniform(0.05, 0.35) * GRAVITY, 1.2) * pick_up[:, None]
    else:
        pieces = quiet if how < 0.72 else walking
        piece = pieces[rng.integers(len(pieces))]
        length = 0.98 * (piece[-1, 0] - piece[0, 0])
        values = interpolate(piece, piece[0, 0] + times * min(1, length / times[-1]))
        values = values @ alignment(values.mean(0), up).T
    for axis in range(3):
        values[:, axis] += np.interp(times - start, shake_times, linear[:, axis], left=0, right=0)
    return times, values, start


# Everything else

def vary(rng, times, values):
    """A recording faster or slower, stronger or weaker, worn in another way, with another sensor."""
    rest = gravity(times, values)
    turn = rotation(rng, rng.uniform(0, 0.6)) if rng.random() < 0.6 else rotation(rng)
    pace, size = spread(rng, 0.78, 1.25), spread(rng, 0.75, 1.4)
    return sense(rng, times * pace, rest + size * (values - rest) @ turn.T)


def starts(rng, times, values):
    """Pieces of lively recordings as they might begin: out of stillness."""
    rest = gravity(times, values)
    begin = times[0] + rng.uniform(0, 4)
    while begin + 4 < times[-1]:
        inside = (times >= begin) & (times < begin + 4)
        linear, up, local = (values - rest)[inside], rest[inside], times[inside] - begin
        if np.sqrt((linear ** 2).sum(1).mean()) > 0.25 * GRAVITY:
            still, rise = rng.choice([1.5, 4, 13]), rng.choice([0.05, 0.15, 0.3, 0.6])
            moments = np.arange(0, still + 4, 0.01)
            track = np.column_stack([np.interp(moments - still, local, up[:, axis]) for axis in range(3)])
            moving = np.column_stack([np.interp(moments - still, local, linear[:, axis], left=0) for axis in range(3)])
            track += ramp(moments, still - rise / 2, rise)[:, None] * moving
            yield sense(rng, moments, track + sway(rng, moments, 0.01 * GRAVITY, 3))
        begin += rng.uniform(6, 11)


def cuts(rng, times, values):
    """Pieces of lively recordings that begin in mid movement: there is no time before."""
    rest = gravity(times, values)
    begin = times[0] + rng.uniform(0, 4)
    while begin + 5 < times[-1]:
        inside = (times >= begin) & (times < begin + 3.2)
        if np.sqrt((((values - rest)[inside]) ** 2).sum(1).mean()) > 0.25 * GRAVITY:
            yield sense(rng, times[inside], values[inside])
        begin += rng.uniform(9, 15)
