"""Pictures of docs/app.md: ``python docs/app_pictures.py``, with chromium, chromedriver, selenium and Pillow."""

import io
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from latentia.datasets import load_bible

DOCS = Path(__file__).parent
FLAGS = "--headless=new --no-sandbox --disable-gpu --no-first-run --hide-scrollbars --window-size=1180,960"


def write_chapters(path):
    """Write every third chapter of the King James Bible with its testament."""
    bible = load_bible()
    first = bible.names.index("Matthew 1")
    rows = [
        f'{name},{"old" if i < first else "new"},"{text}"'
        for i, (name, text) in enumerate(zip(bible.names, bible.texts, strict=True))
        if i % 3 == 0
    ]
    path.write_text("\n".join(["chapter,testament,text", *rows]) + "\n")


class Camera:
    def __init__(self, address):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in FLAGS.split():
            options.add_argument(flag)
        self.browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        self.browser.get(address)

    def find(self, selector):
        return WebDriverWait(self.browser, 300).until(lambda browser: browser.find_element("css selector", selector))

    def take(self, name):
        time.sleep(1.5)
        picture = Image.open(io.BytesIO(self.browser.get_screenshot_as_png())).convert("RGB")
        picture.quantize(96).save(DOCS / f"app-{name}.png", optimize=True)


def take_pictures(folder, address):
    camera = Camera(address)
    write_chapters(folder / "chapters.csv")
    camera.find("#upload").send_keys(str(folder / "chapters.csv"))
    camera.find("[aria-label='Role of chapter']")
    camera.take("file")
    camera.find("main a.action").click()
    camera.find("[name='by']").click()
    camera.find("[name='to']").send_keys("\ue009a\ue00010\ue004")
    camera.take("question")
    camera.find("form button").click()
    camera.find("#bar[value]")
    camera.take("progress")
    camera.find("iframe")
    camera.take("report")
    camera.find("a[href$='/topics']").click()
    box = camera.find("tr:nth-child(2) [name='anchor']")
    words = camera.find("[data-words='1']").text.split(", ")
    word = next(word for word in words if word != box.get_attribute("value"))
    box.send_keys("\ue009a\ue000" + word + "\ue004")
    WebDriverWait(camera.browser, 60).until(lambda browser: "nats" in browser.find_element("id", "cost").text)
    camera.take("topics")
    camera.browser.quit()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "latentia", "app", "--no-browser", f"{folder}/latentia"]
        app = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            address = next(found[0] for line in app.stdout if (found := re.search(r"http://\S+", line)))
            take_pictures(Path(folder), address)
        finally:
            app.send_signal(signal.SIGINT)
            app.wait()
