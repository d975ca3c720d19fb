"""A headless browser, driven over the DevTools protocol through a pipe, to measure pages."""

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
TIMEOUT_S = 60.0
Message = dict[str, Any]


class Browser:
    """One browser process and the page under test; `events` holds what the page reported so far."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self._buffer = b""
        self._last = 0
        self.events: list[Message] = []
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session: str | None = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log", "DOM", "CSS", "Audits"):
            self.page(f"{domain}.enable")

    def call(
        self, method: str, params: Message | None = None, session: str | None = None
    ) -> Message:
        """Sends one command and returns its result."""
        self._last += 1
        message: Message = {"id": self._last, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._requests, data) :]
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: Message = answer["result"]
                return result
            self.events.append(answer)

    def page(self, method: str, **params: Any) -> Message:
        """Sends one command to the page."""
        return self.call(method, params, self._session)

    def _receive(self, deadline: float) -> Message:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._answers, 1 << 20)
            if not chunk:
                raise ConnectionError("the browser ended")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        decoded: Message = json.loads(message)
        return decoded

    def open(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Opens a file at a window size and waits until it has loaded."""
        self.page(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.page("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.page("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + TIMEOUT_S
        while not self.seen("Page.loadEventFired"):
            self.events.append(self._receive(deadline))

    def seen(self, method: str) -> list[Message]:
        """The parameters of the events of one kind since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, also where its own scripts are off."""
        answer = self.page("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def pdf(self, path: Path) -> None:
        """Writes the page as it prints."""
        printed = self.page(
            "Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.7
        )
        path.write_bytes(base64.b64decode(printed["data"]))


@contextmanager
def browser(chromium: str, profile: Path) -> Iterator[Browser]:
    """A running browser with a fresh profile; it ends with the block."""
    to_browser, requests = os.pipe()
    answers, from_browser = os.pipe()
    # the pipe protocol wants its two ends at the descriptors 3 and 4
    script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", script, chromium, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        pass_fds=(to_browser, from_browser),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        started = Browser(requests, answers)
        yield started
        started.call("Browser.close")
    finally:
        os.close(requests)
        os.close(answers)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
