#!/usr/bin/env python3
"""The documentation as a site (script/docs): it builds without a warning, every link of it leads somewhere, nothing comes
from another host, and in a browser it is readable on narrow screens and in the dark, and its search finds pages.

usage: test_site.py ROOT        exit code 77: Sphinx is missing; the part with a browser is skipped without one"""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unittests  # noqa: E402

ROOT = SITE = None
NARROW = 390
BROWSER = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"


class Links(html.parser.HTMLParser):
    """The addresses and anchors of a page, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload") or tag in ("script", "img", "source", "iframe"):
            self.loads += [value for name in ("href", "src", "srcset") if (value := given.get(name))]


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {path: Links(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html")}

    def test_every_page_of_docs_is_in_it(self):
        sources = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
        self.assertGreater(len(sources), 20)
        self.assertEqual(sources - {path.relative_to(SITE).with_suffix("") for path in self.pages}, set())

    def test_every_link_leads_somewhere(self):
        wrong = []
        for path, page in self.pages.items():
            for link in [*page.links, *page.loads]:
                address = urllib.parse.urlsplit(link)
                if address.scheme or address.netloc:
                    continue
                target = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
                if not target.is_file():
                    wrong.append(f"{path.relative_to(SITE)}: {link}")
                elif address.fragment and target in self.pages and address.fragment not in self.pages[target].anchors:
                    wrong.append(f"{path.relative_to(SITE)}: {link}: no such anchor")
        self.assertEqual(wrong, [])

    def test_nothing_is_loaded_from_another_host(self):
        far = [f"{path.relative_to(SITE)}: {load}" for path, page in self.pages.items() for load in page.loads if "//" in load]
        far += [f"{path.relative_to(SITE)}: {address}" for path in SITE.rglob("*.css")
                for address in re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)", path.read_text(encoding="utf-8"))]
        self.assertEqual(far, [])


@unittest.skipUnless(os.path.exists(BROWSER) and os.path.exists(DRIVER), "there is no chromium with its driver")
class Browser(unittest.TestCase):
    def open(self, width, *flags):
        from selenium import webdriver
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        folder = tempfile.TemporaryDirectory(prefix="octet-site-")
        self.addCleanup(folder.cleanup)
        for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", f"--user-data-dir={folder.name}",
                     "--allow-file-access-from-files", *flags):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(service=webdriver.chrome.service.Service(DRIVER), options=options)
        self.addCleanup(driver.quit)
        # A window is at least 500 pixels wide, a device is not.
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500})
        return driver

    def test_no_page_is_wider_than_a_narrow_screen(self):
        driver, wide = self.open(NARROW), []
        for path in sorted(SITE.rglob("*.html")):
            driver.get(path.as_uri())
            if driver.execute_script("return document.scrollingElement.scrollWidth") > NARROW:
                wide.append(str(path.relative_to(SITE)))
        self.assertEqual(wide, [])

    def test_dark_is_dark_and_light_is_light(self):
        for scheme, dark in (("dark", True), ("light", False)):
            driver = self.open(1280)
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            driver.get((SITE / "index.html").as_uri())
            colours = driver.execute_script("const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]")
            ground, text = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
            self.assertEqual((ground < text, abs(ground - text) > 300), (dark, True), colours)

    def test_search_finds_a_page_without_a_server(self):
        from selenium.webdriver.support.ui import WebDriverWait
        driver = self.open(1280)
        driver.get((SITE / "search.html").as_uri() + "?q=certificates")
        WebDriverWait(driver, 30).until(lambda d: d.find_elements("css selector", "#search-results li a"))
        found = [link.get_attribute("href") for link in driver.find_elements("css selector", "#search-results li a")]
        self.assertTrue(any("security.html" in link for link in found), found)
        self.assertEqual([entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"], [])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv[1]).resolve()
    python = os.environ.get("OCTET_TEST_PYTHON") or ROOT / "build/tools/python/bin/python"
    if not shutil.which(python) or subprocess.run([python, "-c", "import furo, myst_parser, sphinx"], capture_output=True, check=False).returncode:
        print("SKIPPED: no python has sphinx, myst-parser and furo (from PyPI; script/setup test fetches them)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="octet-site-") as made:
        SITE = pathlib.Path(made) / "site"
        done = subprocess.run([ROOT / "script/docs", SITE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={**os.environ, "OCTET_TEST_PYTHON": str(python)})
        if done.returncode != 0:
            sys.exit(done.stdout)
        unittests.main(sys.argv[:1] + sys.argv[2:])
