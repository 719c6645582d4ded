"""Writes the examples beside it: three 8 x 8 pictures and the same three cameras in every format.

python3 generate.py, with the standard library alone: an independent account of the formats.
The cameras stand at (0, 0, -3), (3, 0, 0) and (0, 0, 3) and look at the origin, y downwards; f = 10, centre (4, 4).
"""
import json
import math
import os
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
HALF = math.sqrt(0.5)
NAMES = ["left.png", "middle.png", "right.jpg"]
# World to camera in OpenCV's axes: rows right, down, forward; then the same as quaternions w, x, y, z.
ROTATIONS = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], [[-1, 0, 0], [0, 1, 0], [0, 0, -1]]]
QUATERNIONS = [(1, 0, 0, 0), (HALF, 0, HALF, 0), (0, 0, 1, 0)]
POSITIONS = [(0, 0, -3), (3, 0, 0), (0, 0, 3)]
TRANSLATION = (0, 0, 3)  # each camera sees the origin 3 ahead


def write(name, data):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def png(pixels, channels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in pixels)
    header = struct.pack(">IIBBBBB", 8, 8, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def jpeg(luma, blue, red):
    """One block of 8 x 8 in one colour (YCbCr): only the three DC coefficients, each 8 * (value - 128)."""
    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    def table(kind, symbols):  # every code has 4 bits
        return segment(0xC4, bytes([kind]) + bytes([0, 0, 0, len(symbols)] + [0] * 12) + bytes(symbols))

    bits = ""
    for value in (luma, blue, red):
        coefficient = 8 * (value - 128)
        size = abs(coefficient).bit_length()
        bits += format(size, "04b")
        if size:
            bits += format(coefficient if coefficient > 0 else coefficient + (1 << size) - 1, f"0{size}b")
        bits += "0000"  # end of block
    bits += "1" * (-len(bits) % 8)
    scan = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    components = bytes(value for index in (1, 2, 3) for value in (index, 0x11, 0))
    return (b"\xff\xd8" + segment(0xDB, bytes([0]) + bytes([1] * 64)) +
            segment(0xC0, struct.pack(">BHHB", 8, 8, 8, 3) + components) + table(0x00, range(12)) + table(0x10, [0]) +
            segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0])) + scan + b"\xff\xd9")


def world_to_camera(view):
    return [ROTATIONS[view][i] + [TRANSLATION[i]] for i in range(3)] + [[0, 0, 0, 1]]


def camera_to_world(view, opengl):
    signs = [1, -1, -1] if opengl else [1, 1, 1]
    return [[ROTATIONS[view][j][i] * signs[j] for j in range(3)] + [POSITIONS[view][i]]
            for i in range(3)] + [[0, 0, 0, 1]]


def main():
    write("images/left.png", png([[(30 * row, 30 * column, 128, 255 if column >= 4 else 0) for column in range(8)]
                                  for row in range(8)], 4))
    write("images/middle.png", png([[(255 - 30 * row, 10 * column, 7 * row * column % 256) for column in range(8)]
                                    for row in range(8)], 3))
    write("images/right.jpg", jpeg(160, 100, 150))

    sizes = {"w": 8, "h": 8}
    write("opencv_cameras.json", json.dumps(
        [{**sizes, "fx": 10, "fy": 10, "cx": 4, "cy": 4, "w2c": world_to_camera(view), "file_path": "images/" + name}
         for view, name in enumerate(NAMES)]))
    focal = {"fl_x": 10, "fl_y": 10, "cx": 4, "cy": 4}
    write("transforms.json", json.dumps(
        {"camera_model": "OPENCV", **sizes, **focal, "k1": 0, "k2": 0, "p1": 0, "p2": 0, "aabb_scale": 4,
         "frames": [{"file_path": "images/" + name, "transform_matrix": camera_to_world(view, True)}
                    for view, name in enumerate(NAMES)]}))
    write("transforms_opencv_axes.json", json.dumps(
        {"camera_axes": "opencv",
         "frames": [{"file_path": "images/" + name, "w": 8.0, "h": 8.0, **focal,
                     "transform_matrix": camera_to_world(view, False)} for view, name in enumerate(NAMES)]}))
    write("transforms_train.json", json.dumps(
        {"camera_angle_x": 2 * math.atan(0.4),
         "frames": [{"file_path": "./images/" + name.split(".")[0], "rotation": 0.1,
                     "transform_matrix": camera_to_world(view, True)} for view, name in enumerate(NAMES)]}))

    write("colmap_text/cameras.txt", "# Camera list\n1 PINHOLE 8 8 10 10 4 4\n2 SIMPLE_PINHOLE 8 8 10 4 4\n")
    lines = ["# Image list, two lines of data per image"]
    for view, name in reversed(list(enumerate(NAMES))):
        values = [view + 7, *QUATERNIONS[view], *TRANSLATION, 1 + view % 2]
        lines += [" ".join(map(str, values)) + " " + name, "1.5 2.5 -1 3.5 4.5 12" if view else ""]
    write("colmap_text/images.txt", "\n".join(lines) + "\n")
    write("colmap_binary/cameras.bin", struct.pack("<Q", 2) + struct.pack("<iiQQ4d", 1, 1, 8, 8, 10, 10, 4, 4) +
          struct.pack("<iiQQ3d", 2, 0, 8, 8, 10, 4, 4))
    binary = struct.pack("<Q", len(NAMES))
    for view, name in reversed(list(enumerate(NAMES))):
        binary += struct.pack("<i7di", view + 7, *QUATERNIONS[view], *TRANSLATION, 1 + view % 2) + name.encode() + b"\0"
        binary += struct.pack("<Q", view) + struct.pack("<ddq", 1.5, 2.5, -1) * view
    write("colmap_binary/images.bin", binary)


main()
