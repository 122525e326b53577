#!/usr/bin/env python3
"""Takes the picture of docs/runs.md in Chromium, without a window (chromium, chromium-driver, python3-selenium).

usage: dash_picture.py URL OUT.png [WIDTH HEIGHT]        URL: of octet dash, or file:///… of octet report

The file has at most 256 colours, so that it is a third as long."""

import base64
import pathlib
import struct
import sys
import tempfile
import time
import zlib

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

# Of a PNG: its size, at most 256 colours, and the colour of each pixel: the nearest of them.
REDUCE = """const [source, done] = arguments, image = new Image();
image.onload = () => {
  const canvas = Object.assign(document.createElement('canvas'), {width: image.width, height: image.height});
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer), counts = new Map(), index = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
  const split = (pixel) => [pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255];
  // The most frequent colour of each small cube of the colour space, of the 256 fullest cubes.
  const cubes = new Map();
  for (const [pixel, count] of [...counts].sort((a, b) => b[1] - a[1])) {
    const key = split(pixel).map((value) => value >> 4).join();
    const cube = cubes.get(key) || {colour: split(pixel), count: 0};
    cubes.set(key, Object.assign(cube, {count: cube.count + count}));
  }
  const palette = [...cubes.values()].sort((a, b) => b.count - a.count).slice(0, 256).map((cube) => cube.colour);
  for (const pixel of counts.keys()) {
    const distances = palette.map((colour) => split(pixel).reduce((sum, value, i) => sum + (value - colour[i]) ** 2, 0));
    index.set(pixel, distances.indexOf(Math.min(...distances)));
  }
  let out = '';
  for (const pixel of pixels) out += String.fromCharCode(index.get(pixel));
  done([image.width, image.height, palette.flat(), btoa(out)]);
};
image.src = 'data:image/png;base64,' + source;"""


def png(width, height, palette, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[width * y:width * (y + 1)] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", bytes(palette)) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main(url, out, width="1200", height="1500"):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    with tempfile.TemporaryDirectory() as profile:
        for flag in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                     f"--window-size={width},{height}", f"--user-data-dir={profile}"]:
            options.add_argument(flag)
        page = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        page.get(url)
        while int(page.execute_script("return document.getElementById('state').dataset.updates")) == 0:
            time.sleep(0.05)
        taken = page.get_screenshot_as_base64()
        page.get("about:blank")  # which lets an image be drawn
        columns, rows, palette, pixels = page.execute_async_script(REDUCE, taken)
        pathlib.Path(out).write_bytes(png(columns, rows, palette, base64.b64decode(pixels)))
        page.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
