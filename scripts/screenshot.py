#!/usr/bin/env python3
"""Takes a picture of the first screen of a page: `screenshot.py PAGE.html PICTURE.png`.

Needs a chromium; without one it says so and ends well, because no check needs the picture.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1280, 960
COLORS = 128
TIMEOUT_S = 60


def main() -> int:
    """Takes the picture named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no chromium here: no picture taken", file=sys.stderr)
        return 0
    arguments.picture.parent.mkdir(parents=True, exist_ok=True)
    take(browser, page=arguments.page.resolve(), picture=arguments.picture.resolve())
    reduce_colors(arguments.picture)
    print(f"{arguments.picture}: {arguments.picture.stat().st_size} bytes")
    return 0


def take(browser: str, *, page: Path, picture: Path) -> None:
    """Lets a headless browser draw the page and write a PNG."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            f"--user-data-dir={profile}",
            f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={picture}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)


def reduce_colors(picture: Path) -> None:
    """Makes the file smaller with a palette."""
    from PIL import Image  # noqa: PLC0415

    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(COLORS)
    small.save(picture, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
