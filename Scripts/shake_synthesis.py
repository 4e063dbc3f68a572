"""Synthetic movements that are not shakes, for Scripts/fit-shake. Accelerations in g until the sensor."""
import numpy as np

from shake_movements import RATE, across, direction, ramp, sense, spread, sway
from shake_recordings import GRAVITY


class Scene:
    """A board at rest for a while, and time and directions for what happens then."""

    def __init__(self, rng, seconds=5.0):
        self.rng, rest = rng, rng.choice([0.5, 2, 5, 13])
        self.times = np.arange(0, rest + seconds, 1 / RATE)
        self.since = self.times - rest
        self.up = direction(rng)
        self.level = across(rng, self.up)
        self.linear = np.zeros((len(self.times), 3))

    def add(self, track, vector):
        self.linear += np.asarray(track)[:, None] * vector

    def bell(self, centre, width):
        return np.exp(-0.5 * ((self.since - centre) / width) ** 2)

    def arch(self, start, duration, power=1.0):
        return np.sin(np.pi * ramp(self.since, start, duration)) ** power

    def sensed(self, noise=0.01):
        values = GRAVITY * (self.up + self.linear) + sway(self.rng, self.times, noise * GRAVITY, 3)
        return sense(self.rng, self.times, values)


def steps(rng):
    """Walking, running or jumping out of standing: an upright blow each step, half weightless between."""
    scene = Scene(rng)
    pace, peak, width, side = rng.uniform(1.5, 3.4), rng.uniform(0.6, 4.5), rng.uniform(0.04, 0.12), rng.uniform(0, 0.5)
    moments = np.cumsum(1 / pace * (1 + 0.07 * rng.normal(size=20)))
    peaks = peak * (1 + 0.2 * rng.normal(size=20)).clip(0.4, 1.7)
    peaks[0] *= rng.uniform(0.4, 1)
    for number, (moment, size) in enumerate(zip(moments, peaks)):
        flight = width * pace * 2.5 * scene.bell(moment + 0.5 / pace, 0.35 / pace)
        scene.add(size * (scene.bell(moment, width) - flight), scene.up)
        tilt = scene.bell(moment + 0.02, width) - scene.bell(moment + 0.02 + 2 * width, width)
        scene.add(size * side * tilt, scene.level if number % 2 else 0.4 * scene.up - scene.level)
    return scene.sensed()


def stairs(rng):
    """Stairs at a run: nearly a sine, upward 0.6 to 3.3 g, downward little more than weightless."""
    scene = Scene(rng)
    pace, count = rng.uniform(2, 3.7), 24
    lengths = 1 / pace * (1 + 0.06 * rng.normal(size=count))
    edges = np.append(0, np.cumsum(lengths))
    phase = np.interp(scene.since, edges, np.arange(count + 1) * 2 * np.pi, left=0)
    peaks = spread(rng, 0.6, 3.3) * (1 + 0.18 * rng.normal(size=count)).clip(0.4, 1.7)
    peaks[0] *= rng.uniform(0.3, 1)
    peaks[1] *= rng.choice([1, rng.uniform(0.6, 1)])
    size = peaks[np.clip(np.searchsorted(edges, scene.since, side='right') - 1, 0, count - 1)]
    depth = np.minimum(size * rng.uniform(0.5, 1.1), rng.uniform(0.9, 1.5))
    wave = np.sin(phase) * rng.choice([-1, 1])
    rise, fall = rng.uniform(0.8, 2.5), rng.uniform(0.6, 1.3)
    started = scene.since > 0
    scene.add(started * np.where(wave > 0, size * np.abs(wave) ** rise, -depth * np.abs(wave) ** fall), scene.up)
    scene.add(started * size * rng.uniform(0, 0.3) * np.sin(phase + rng.uniform(0, 6)), scene.level)
    sideways = np.cross(scene.up, scene.level)
    scene.add(started * size * rng.uniform(0, 0.3) * np.sin(0.5 * phase + rng.uniform(0, 6)), sideways)
    width, hardness = rng.uniform(0.01, 0.03), rng.random()
    for edge, length in zip(edges, lengths):
        blow = hardness * rng.uniform(0, 0.5) * size[np.argmin(np.abs(scene.since - edge))]
        scene.add(started * blow * scene.bell(edge + 0.15 * length, width), scene.up + 0.4 * scene.level)
    scene.add(0.1 * np.sin(0.8 * np.pi * scene.since), scene.level)
    return scene.sensed()


def jump(rng):
    """Jumps: crouch, push, flight, landing and its rebound."""
    scene, time = Scene(rng, 4.0), 0.0
    for _ in range(rng.integers(1, 4)):
        size = rng.uniform(0.5, 1.3)
        for low, high, shortest, longest, side, power, overlap in (
                (-0.8, -0.2, 0.15, 0.35, 0.2, 1, 0.9), (0.6, 2.5, 0.14, 0.3, 0.3, 1, 0.95),
                (-1.1, -0.6, 0.08, 0.4, 0.1, 0.4, 1), (1, 4.5, 0.06, 0.2, 0.4, 1, 0.9),
                (-0.9, -0.1, 0.08, 0.25, 0.5, 1, 0.9), (0.05, 0.6, 0.1, 0.3, 0, 1, 1)):
            duration = rng.uniform(shortest, longest)
            # Flight is weightless however high.
            peak = rng.uniform(low, high) * (1 if power < 1 else size)
            scene.add(peak * scene.arch(time, duration, power), scene.up + side * rng.normal() * scene.level)
            time += overlap * duration
        time += rng.uniform(0, 1.2)
    return scene.sensed(0.02)


def flick(rng):
    """One stroke with a windup, a stop and a rebound, sometimes there and back."""
    scene = Scene(rng, 3.0)
    axis = direction(rng)
    other = across(rng, axis)
    length, peak, time, sign = spread(rng, 0.06, 0.35), spread(rng, 0.8, 6), rng.uniform(0, 0.2), -1
    sizes = [rng.uniform(0, 0.6), 1, rng.uniform(0.5, 1.2), rng.uniform(0, 0.5), rng.uniform(0, 0.2)]
    lengths = length * np.array([rng.uniform(0.8, 1.8), 1, rng.uniform(0.7, 1.6), *rng.uniform(0.8, 2, 2)])
    for size, duration in zip(sizes, lengths):
        scene.add(peak * size * sign * scene.arch(time, duration), axis + 0.3 * rng.normal() * other)
        time, sign = time + duration * rng.uniform(0.85, 1.1), -sign
    if rng.random() < 0.3:
        time += rng.uniform(0.2, 0.6)
        for size, duration in zip(sizes[1:3], lengths[1:3]):
            scene.add(-peak * size * sign * scene.arch(time, duration), axis)
            time, sign = time + duration, -sign
    return scene.sensed(0.02)


def blows(rng):
    """Clapping, or knocks: short blows with a swing of the arm between."""
    scene = Scene(rng)
    pace, count = rng.uniform(2, 5.5), 20 if rng.random() < 0.5 else rng.integers(2, 6)
    peak, width, swing = rng.uniform(0.6, 4), rng.uniform(0.012, 0.04), rng.uniform(0.3, 0.8)
    for moment in np.cumsum(1 / pace * (1 + 0.06 * rng.normal(size=count))):
        size = peak * (1 + 0.25 * rng.normal())
        blow = scene.bell(moment, width) - 0.35 * scene.bell(moment + 2.5 * width, 1.5 * width)
        scene.add(size * blow, scene.level)
        scene.add(-0.5 * swing * size * scene.bell(moment - 0.25 / pace, 0.13 / pace), scene.level + 0.3 * scene.up)
    return scene.sensed()


def brushing(rng):
    """Brushing, wiping and scrubbing: as regular as a shake, and gentle."""
    scene = Scene(rng)
    pace = rng.uniform(2.5, 6)
    count = int(10 * pace)
    edges = np.append(0, np.cumsum(0.5 / pace * (1 + 0.08 * rng.normal(size=count)).clip(0.6, 1.5)))
    phase = np.interp(scene.since, edges, np.arange(count + 1) * np.pi, left=0)
    size = np.interp(scene.since, edges[:-1], spread(rng, 0.2, 0.85) * (1 + 0.15 * rng.normal(size=count)))
    size = size * ramp(scene.since, 0, rng.choice([0.1, 0.4, 1]))
    axis = direction(rng)
    scene.add(size * np.sin(phase), axis)
    scene.add(size * rng.uniform(0, 0.5) * np.sin(phase + rng.uniform(-1, 1)), across(rng, axis))
    return scene.sensed()


def stirring(rng):
    """Round and round."""
    scene = Scene(rng)
    phase = 2 * np.pi * rng.uniform(1, 3.2) * scene.since * (1 + 0.03 * np.sin(scene.since))
    size = spread(rng, 0.2, 1.2) * ramp(scene.since, 0, rng.choice([0.1, 0.4]))
    axis = direction(rng)
    scene.add(size * np.cos(phase), axis)
    scene.add(size * rng.uniform(0.5, 1) * np.sin(phase), across(rng, axis))
    return scene.sensed()


def reaching(rng):
    """A hand that reaches for something, and perhaps comes back."""
    scene = Scene(rng)
    duration, size = rng.uniform(0.35, 0.9), rng.uniform(0.3, 1.4)
    phase = 2 * np.pi * ramp(scene.since, 0, duration)
    scene.add(size * np.sin(phase) * (1 + 0.3 * np.sin(2 * phase)), direction(rng))
    if rng.random() < 0.5:
        scene.add(-size * np.sin(2 * np.pi * ramp(scene.since, duration + 0.1, duration)), direction(rng))
    scene.linear += sway(rng, scene.times, 0.1, 3) * (scene.since > 0)[:, None]
    return scene.sensed()


# How many of each.
MOVEMENTS = ((steps, 1200), (stairs, 1500), (jump, 1200), (flick, 1500), (blows, 1000), (brushing, 600),
             (stirring, 500), (reaching, 600))
