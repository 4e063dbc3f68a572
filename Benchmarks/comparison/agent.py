"""An agent as one writes it in Python with care: reads the FIFO of an MPU-6050 every 20 ms with smbus2, computes the
attitude with a complementary filter, and publishes it ten times a second with paho-mqtt. No checks, no true clock, no
gestures.

usage: agent.py /dev/i2c-N RATE PORT
"""

import json
import struct
import sys
import time
from math import atan2, degrees, sqrt

from paho.mqtt.client import CallbackAPIVersion, Client
from smbus2 import SMBus, i2c_msg

ADDRESS = 0x68
FRAME = struct.Struct(">7h")
CAPACITY = 1024
INTERVAL = 0.02
POLLS_PER_MESSAGE = 5
TURN = 1 / 16.384  # °/s a count at ±2000 °/s
TIME_CONSTANT = 0.5


def read(bus, register, count):
    answer = i2c_msg.read(ADDRESS, count)
    bus.i2c_rdwr(i2c_msg.write(ADDRESS, (register,)), answer)
    return bytes(answer)


def empty_fifo(bus):
    bus.write_byte_data(ADDRESS, 0x6A, 0x04)
    bus.write_byte_data(ADDRESS, 0x6A, 0x40)


def set_up(bus, rate):
    bus.write_byte_data(ADDRESS, 0x6B, 0x80)
    time.sleep(0.1)
    # The gyroscope's clock; the rate, low-pass of 94 Hz, ±2000 °/s, ±8 g; all sensors into the FIFO.
    for register, value in {0x6B: 1, 0x19: 1000 // rate - 1, 0x1A: 2, 0x1B: 0x18, 0x1C: 0x10, 0x23: 0xF8}.items():
        bus.write_byte_data(ADDRESS, register, value)
    empty_fifo(bus)


def main(path, rate, port):
    client = Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", port)
    client.loop_start()
    dt = 1 / rate
    trust = TIME_CONSTANT / (TIME_CONSTANT + dt)
    doubt = 1 - trust
    turn = TURN * dt
    roll = pitch = yaw = 0.0
    with SMBus(path) as bus:
        set_up(bus, rate)
        due = time.monotonic()
        poll = 0
        while True:
            due += INTERVAL
            time.sleep(max(0.0, due - time.monotonic()))
            poll += 1
            filled = int.from_bytes(read(bus, 0x72, 2), "big")
            if filled > CAPACITY - FRAME.size:
                empty_fifo(bus)
                continue
            size = filled - filled % FRAME.size
            for x, y, z, _, a, b, c in FRAME.iter_unpack(read(bus, 0x74, size)) if size else ():
                roll = trust * (roll + a * turn) + doubt * degrees(atan2(y, z))
                pitch = trust * (pitch + b * turn) + doubt * degrees(atan2(-x, sqrt(y * y + z * z)))
                yaw += c * turn
            if poll % POLLS_PER_MESSAGE == 0:
                attitude = {"t": time.time(), "roll": round(roll, 2), "pitch": round(pitch, 2), "yaw": round(yaw, 2)}
                client.publish("python/attitude", json.dumps(attitude))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
