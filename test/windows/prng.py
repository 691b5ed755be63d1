#!/usr/bin/env python3
"""prng.py FOLDER: write bcryptprimitives.dll, which programs of Go need and old versions of wine lack.

Its only function passes on to one of advapi32.dll that does the same.
"""
import os, struct, sys

BASE, NAMES = 0x1000, (b"bcryptprimitives.dll", b"ProcessPrng", b"ADVAPI32.SystemFunction036")


def library():
    at = BASE + 50  # behind the directory of exports and its three tables of one entry
    places = [at + sum(len(n) + 1 for n in NAMES[:i]) for i in range(len(NAMES))]
    exports = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, places[0], 1, 1, 1, BASE + 40, BASE + 44, BASE + 48)
    exports += struct.pack("<IIH", places[2], places[1], 0) + b"".join(n + b"\0" for n in NAMES)
    head = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x2022)
    head += struct.pack("<HBBIIIIIQIIHHHHHHIIIIHHQQQQII", 0x20B, 1, 0, 0, 512, 0, 0, BASE, 0x180000000, 4096, 512, 6, 0, 0, 0, 6, 0,
                        0, 0x2000, 512, 0, 3, 0x100, 1 << 20, 4096, 1 << 20, 4096, 0, 16)
    head += struct.pack("<II", BASE, len(exports)) + bytes(8 * 15)
    head += struct.pack("<8sIIIIIIHHI", b".rdata", len(exports), BASE, 512, 512, 0, 0, 0, 0, 0x40000040)
    return head.ljust(512, b"\0") + exports.ljust(512, b"\0")


path = os.path.join(sys.argv[1], "bcryptprimitives.dll")
if not os.path.exists(path):
    with open(path, "wb") as file:
        file.write(library())
