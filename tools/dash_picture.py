#!/usr/bin/env python3
"""Takes the picture of docs/runs.md in Chromium, without a window (chromium, chromium-driver, python3-selenium).

usage: dash_picture.py URL OUT.png [WIDTH HEIGHT]        URL: of octet dash, or file:///… of octet report"""

import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service


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
        page.save_screenshot(out)
        page.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
