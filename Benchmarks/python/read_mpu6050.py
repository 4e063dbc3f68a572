"""Reads an MPU-6050 at 1 kHz through its FIFO, the way one does it in Python: smbus2, bursts every 20 ms, SI units.

What Scripts/compare-with-python holds against jostle-bench --bus. It does less: no timestamps from the chip's true clock,
no checks, no attitude, no gestures.

usage: read_mpu6050.py /dev/i2c-N SECONDS
"""

import json
import math
import resource
import struct
import sys
import time

from smbus2 import SMBus, i2c_msg

ADDRESS = 0x68
FRAME = 14
INTERVAL = 0.02
ACCELERATION = 9.80665 / 4096  # m/s² a count at ±8 g
RATE = math.radians(1) / 16.384  # rad/s a count at ±2000 °/s


def read(bus, register, count):
    data = i2c_msg.read(ADDRESS, count)
    bus.i2c_rdwr(i2c_msg.write(ADDRESS, [register]), data)
    return bytes(data)


def set_up(bus):
    bus.write_byte_data(ADDRESS, 0x6B, 0x80)
    time.sleep(0.1)
    # Gyroscope's clock; 1 kHz, low-pass of 94 Hz, ±2000 °/s, ±8 g; FIFO of all sensors, emptied and on.
    for register, value in [
        (0x6B, 0x01), (0x19, 0), (0x1A, 2), (0x1B, 0x18), (0x1C, 0x10), (0x23, 0xF8), (0x6A, 0x04), (0x6A, 0x40),
    ]:
        bus.write_byte_data(ADDRESS, register, value)
    time.sleep(0.05)


def processor_time():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(path, seconds):
    with SMBus(path) as bus:
        set_up(bus)
        bus.write_byte_data(ADDRESS, 0x6A, 0x04)
        bus.write_byte_data(ADDRESS, 0x6A, 0x40)
        taken = bursts = overflows = 0
        total = 0.0
        before = processor_time()
        start = due = time.monotonic()
        while due - start < seconds:
            due += INTERVAL
            time.sleep(max(0.0, due - time.monotonic()))
            (count,) = struct.unpack(">H", read(bus, 0x72, 2))
            if count >= 1024 - FRAME:
                overflows += 1
                bus.write_byte_data(ADDRESS, 0x6A, 0x04)
                bus.write_byte_data(ADDRESS, 0x6A, 0x40)
                continue
            frames = count // FRAME
            if frames == 0:
                continue
            data = read(bus, 0x74, frames * FRAME)
            samples = [
                (
                    ax * ACCELERATION, ay * ACCELERATION, az * ACCELERATION,
                    gx * RATE, gy * RATE, gz * RATE, t / 340 + 36.53,
                )
                for ax, ay, az, t, gx, gy, gz in struct.iter_unpack(">7h", data)
            ]
            taken += len(samples)
            bursts += 1
            total += samples[-1][2]
        used = processor_time() - before
        elapsed = time.monotonic() - start
        bus.write_byte_data(ADDRESS, 0x6B, 0x40)
    if bursts == 0 or not 9 < total / bursts < 11:
        sys.exit("the samples do not show gravity")
    print(json.dumps({
        "samples": taken, "seconds": round(elapsed, 3), "overflows": overflows,
        "us_per_sample": round(1e6 * used / taken, 3),
    }))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], float(sys.argv[2]))
