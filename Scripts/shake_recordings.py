"""Recordings of movement with their labels, for Scripts/fit-shake."""
import csv
import pathlib
import re
import subprocess

import numpy as np

GRAVITY = 9.80665

FOLDERS = ('gestures', 'gestures-more', 'gestures-strangers')
# What is fitted to: set, source and licence. Everything else only validates, such as all people of gestures-strangers.
SOURCES = {
    'uhh': ('ravenshooter/UHH-IMU-gestures', 'MIT'),
    'glove25': ('chenCFD/IMU-Gesture-Recognition-Benchmark', 'MIT'),
    'motionsense_esp': ('TheZeroHz/MotionSense-ESP', 'Apache-2.0'),
    'microbit': ('microbit-foundation/ml-trainer', 'MIT'),
    'fallphone': ('fsaliby/Air_Resistance', 'CC0'),
    'geotec': ('GeoTecINIT/sp-sw-har-dataset', 'CC BY 4.0'),
    'st_mlc': ('STMicroelectronics/STMems_Machine_Learning_Core', 'BSD-3-Clause'),
    'wisdm_watch': ('WISDM, UCI data set 507', 'CC BY 4.0'),
    'assist_stairs': ('ASSIST-IoT-SRIPAS/multimodal-fall-detection-dataset', 'CC BY 4.0'),
}
# Corrected labels: shakes of ±2 g at 5 Hz in the middle of something else.
UNLABELLED_SHAKES = {('wisdm_watch', '1607_sitting'): [(71.5, 85)], ('wisdm_watch', '1617_stairs'): [(41.5, 46)]}
# Activities of sport, and of riding and driving. D... are those of SisFall; D06 is stairs at a run.
SPORT = {'jogging', 'dribbling', 'catch', 'clapping', 'clap', 'kicking', 'jumping', 'running', 'stairs_quick', 'D03',
         'D04', 'D06', 'D18', 'D19'}
VEHICLE = {'car_windshield', 'driving', 'engine_idle', 'biking', 'car_step_in', 'car_step_out', 'D17'}
# A person's recordings are in one fold. People without a number have a fold here, or sets that are one person's.
FOLDS = 4
FOLD = {'uhh/j': 0, 'uhh/l': 1, 'uhh/ni': 2, 'motionsense_esp/phone_lmzv2r1i': 3, 'glove25': 0, 'microbit': 3,
        'st_mlc': 2}
# Seconds by which an event may come before and after its label.
EARLY, LATE = 0.25, 0.75


class Recording:
    """A recording: samples (s, m/s² along three axes) and labels (start, end, name)."""

    def __init__(self, path):
        self.set, self.name = path.parent.name, path.name[:-len('.labels.csv')]
        self.samples = read_samples(path.with_name(self.name + '.csv'))
        with open(path) as file:
            self.labels = [(float(r['start_s']), float(r['end_s']), r['label']) for r in csv.DictReader(file)]
        hidden = UNLABELLED_SHAKES.get((self.set, self.name), [])
        self.has_unlabelled_shakes = bool(hidden)
        self.labels = [(s, e, 'ignore:shake') for s, e in hidden] + self.labels
        self.is_fitted_to = self.set in SOURCES
        self.fold = self.find_fold()
        self.rows = None

    def find_fold(self):
        """The fold in which the recording is left out. One phone has most of its set, and is left out in four parts."""
        if self.name.startswith('phone_m4iqeusg'):
            return int(re.search(r'\d+$', self.name).group()) % FOLDS
        who = self.name[:14] if self.set == 'motionsense_esp' else self.name.split('_')[0]
        if f'{self.set}/{who}' in FOLD:
            return FOLD[f'{self.set}/{who}']
        if self.set in FOLD:
            return FOLD[self.set]
        return int(re.sub(r'\D', '', who) or '0') % FOLDS

    @property
    def is_mistimed(self):
        """Some files of watches have samples of one second in the next."""
        return self.set == 'wisdm_watch' and np.mean(np.diff(self.samples[:, 0]) < 0.026) > 0.02

    @property
    def shakes(self):
        return [(s, e) for s, e, label in self.labels if label == 'shake']

    def group(self, time):
        """What kind of movement the labels say there is at a time."""
        for start, end, label in self.labels:
            if start - EARLY <= time <= end + LATE:
                return kind(label, self.set)
        return 'drop' if self.set in ('fallphone', 'sisfall') else 'between'

    def half_waves(self, start, end):
        """The half waves of a clip along its main axis that exceed 0.3 g and 0.3 of the largest."""
        inside = (self.samples[:, 0] >= start) & (self.samples[:, 0] <= end)
        values = self.samples[inside, 1:]
        if len(values) < 5:
            return 0
        values = values - values.mean(0)
        along = values @ np.linalg.svd(values, full_matrices=False)[2][0]
        signs = np.sign(along[np.abs(along) > max(0.3 * GRAVITY, 0.3 * np.abs(along).max())])
        return 1 + int(np.count_nonzero(np.diff(signs))) if len(signs) else 0


def kind(label, set_name):
    """The kind of movement that a label names."""
    if label.startswith('act:'):
        if set_name == 'washing_rpi_mpu6050':
            return 'machine'
        return 'sport' if label[4:] in SPORT else 'vehicle' if label[4:] in VEHICLE else 'daily'
    if label in ('drop', 'free_fall', 'fall'):
        return 'drop'
    if label.startswith('ignore:'):
        return 'ignored'
    return 'shake' if label == 'shake' else 'other'


def read_samples(path):
    """The first four columns of a recording, without lines that have no acceleration."""
    rows = []
    with open(path) as file:
        for line in file:
            try:
                rows.append([float(field) for field in line.split(',')[:4]])
            except ValueError:
                pass
    return np.array(rows)


def read_all(directory):
    """Every recording with labels below the folders, except those that are mistimed."""
    paths = sorted(p for d in FOLDERS for p in pathlib.Path(directory, d).glob('*/*.labels.csv'))
    return [r for r in map(Recording, paths) if not r.is_mistimed]


# The columns before the features of a row; see ShakeCandidates.swift.
TIME, ONSET, LATEST, WEAKEST, SWINGS, OPEN, FEATURES = range(7)
# Weaker movements, m/s², are no shakes at any sensitivity, and are not fitted to.
LEAST = 0.3 * GRAVITY


def rows_of(tracks, program):
    """What the recognizer sees of tracks of samples: an array of rows for each."""
    given = b''.join(np.int32(len(t)).tobytes() + np.ascontiguousarray(t, np.float64).tobytes() for t in tracks)
    output = subprocess.run([program], input=given, stdout=subprocess.PIPE, check=True).stdout
    columns, place, result = int(np.frombuffer(output, np.int32, 1)[0]), 4, []
    for track in tracks:
        count = int(np.frombuffer(output, np.int32, 1, place)[0])
        rows = np.frombuffer(output, np.float32, count * columns, place + 4).reshape(count, columns).copy()
        rows[:, [TIME, ONSET]] += track[0, 0]
        result.append(rows)
        place += 4 + 4 * count * columns
    return result


def candidates(rows):
    """The rows that are fitted to."""
    return rows[(rows[:, OPEN] > 0) & (rows[:, WEAKEST] > LEAST)]
