"""What the shake recognizer would report, and how right that is, for Scripts/fit-shake."""
import collections

import numpy as np

from shake_recordings import EARLY, LATE, LATEST, ONSET, SWINGS, TIME, WEAKEST, kind

# Constants of ShakeRecognizer.swift and ShakeSettings.swift.
END_DELAY, FOLLOW_SHARE, LONGEST = 0.3, 0.35, 5
# Constants of ShakeModel.swift.
LEAST_AMPLITUDE, AMPLITUDE_STEP, LIKENESS_STEP, THREE_SWING_MARGIN = 0.5 * 9.80665, 1.15, 0.5, 1.0


def is_shake(rows, likeness, threshold, sensitivity=5):
    """The decision of ShakeModel for each row; rows that no network saw have a likeness of minus infinity."""
    steps = sensitivity - 5
    needed = threshold - LIKENESS_STEP * steps + THREE_SWING_MARGIN * (rows[:, SWINGS] <= 3)
    return (likeness >= needed) & (rows[:, WEAKEST] >= LEAST_AMPLITUDE / AMPLITUDE_STEP ** steps)


def beginnings(rows, decisions):
    """The times at which a shake begins, as ShakeRecognizer decides."""
    begun, yes, index = [], np.flatnonzero(decisions), 0
    while True:
        place = np.searchsorted(yes, index)
        if place == len(yes):
            return begun
        first = rows[yes[place]]
        begun.append(first[TIME])
        reference, last, index = first[WEAKEST], first[TIME], yes[place] + 1
        while index < len(rows):
            row = rows[index]
            if row[WEAKEST] < 0 or row[TIME] - last > END_DELAY + 1e-6 or row[TIME] - first[ONSET] > LONGEST:
                break
            if row[LATEST] >= FOLLOW_SHARE * reference:
                last = row[TIME]
                reference = max(reference, row[WEAKEST])
            index += 1
        if index == len(rows):
            return begun


class Score:
    """What was found, and what was false, in some recordings."""

    def __init__(self):
        self.found, self.count = collections.Counter(), collections.Counter()
        self.false, self.hours, self.labels = collections.Counter(), collections.Counter(), collections.Counter()
        self.delays = []

    def add(self, recording, begun):
        for start, end, label in recording.labels:
            group = kind(label, recording.set)
            self.hours[group] += (end - start) / 3600
            self.labels[group] += 1
        shakes = [(s, e) for s, e in recording.shakes if e - s <= 3]
        hits = collections.defaultdict(list)
        for time in begun:
            near = [(max(s - time, time - e, 0), -s, n) for n, (s, e) in enumerate(shakes)
                    if s - EARLY <= time <= e + LATE]
            if near:
                hits[min(near)[2]].append(time)
            else:
                self.false[recording.group(time)] += 1
        for number, (start, end) in enumerate(shakes):
            name = recording.set
            if name == 'motionsense_esp':
                name = 'phone' if recording.half_waves(start, end) >= 4 else 'short phone clips'
            self.count[name] += 1
            if hits[number]:
                self.found[name] += 1
                self.delays.append(min(hits[number]) - start)

    def recall(self, is_phone):
        names = [n for n in self.count if n.endswith('phone') == is_phone and not n.startswith('short')]
        return sum(self.found[n] for n in names), sum(self.count[n] for n in names)

    def cells(self):
        """The cells of a row of a table."""
        found, phone = self.recall(False), self.recall(True)
        delay = '{:.2f}/{:.2f} s'.format(*np.quantile(self.delays, [0.5, 0.95])) if self.delays else '-'

        def share(pair):
            return f'{pair[0] / pair[1]:.3f} of {pair[1]}' if pair[1] else '-'

        def hourly(group):
            return f'{self.false[group] / self.hours[group]:.2f} ({self.false[group]} in {self.hours[group]:.1f} h)' \
                if self.hours[group] else '-'

        def each(group):
            return f'{self.false[group]} of {self.labels[group]}' if self.labels[group] else '-'
        return [share(found), share(phone), hourly('daily'), hourly('sport'), each('drop'), each('other'),
                str(self.false['vehicle'] + self.false['machine']), delay]

    HEAD = ['found', 'phone', 'everyday/h', 'sport/h', 'drops', 'other gestures', 'vehicles, machine', 'after']

    def sets(self):
        return ', '.join(f'{n} {self.found[n]} of {self.count[n]}' for n in sorted(self.count))
