#!/usr/bin/env python3
"""Generates with a genrouter service and saves the files. Python 3.9 or newer, nothing to install.

    export GENROUTER_URL=http://127.0.0.1:8080 GENROUTER_API_KEY=gr_test_...
    python3 generate.py vidmodel-2.0-fast '{"prompt": "a red kite over dunes", "resolution": "480p", "duration": 4}' kite.mp4

Sent again with the same IDEMPOTENCY_KEY in the environment, it finds the generation of before instead of making another.
Ends with 0 when the files are saved, 1 when the generation failed, 2 with one line about what else went wrong: a wrong word or
setting (reported before anything is bought), an error of the service, no response, or a file that cannot be saved. Ctrl-C ends it
with 130 and says how to get the files of a generation that was submitted.
"""
import http.client
import json
import os
import random
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

URL = os.environ.get("GENROUTER_URL", "http://127.0.0.1:8080").rstrip("/")
KEY = os.environ.get("GENROUTER_API_KEY", "")
TRIES = 10
TIMEOUT_S = 60
ENDINGS = {
    "video/mp4": ".mp4",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
}


class ServiceError(Exception):
    """A no of the service: `code` is for programs, the message for people."""

    def __init__(self, status, code, message, request_id):
        super().__init__(f"{code}: {message} (request {request_id})")
        self.status, self.code = status, code


class Mistake(Exception):
    """What was given cannot work; nothing was submitted."""


class KeepKeyHome(urllib.request.HTTPRedirectHandler):
    """A redirect leads to a signed link, which must not see the key."""

    def redirect_request(self, request, *more):
        followed = super().redirect_request(request, *more)
        if followed is not None:
            followed.remove_header("Authorization")
        return followed


OPENER = urllib.request.build_opener(KeepKeyHome)


def refusal(error):
    """The service's own words of an HTTP error."""
    request_id = error.headers.get("X-Request-Id")
    try:
        body = json.load(error)["error"]
        return ServiceError(error.code, body["code"], body["message"], request_id)
    except (ValueError, KeyError, TypeError):
        return ServiceError(error.code, "unexpected_answer", f"HTTP {error.code}", request_id)


def ask(path, body=None, headers=None):
    """Opens a path; what passes (429, 5xx, a lost connection) is tried again, after Retry-After where there is one."""
    request = urllib.request.Request(URL + path, headers={"Authorization": f"Bearer {KEY}", **(headers or {})})
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    for sent in range(1, TRIES + 1):
        try:
            return OPENER.open(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            fault = refusal(error)
            if error.code != 429 and error.code < 500 or sent == TRIES:
                raise fault from None
            wait = error.headers.get("Retry-After", "")
            pause, why = float(wait) if wait.isdigit() else min(10, 2 ** (sent - 2)), fault.code
        except (OSError, http.client.HTTPException) as error:
            if sent == TRIES:
                raise
            pause, why = min(10, 2 ** (sent - 2)), f"no answer from {URL}: {getattr(error, 'reason', error)}"
        print(f"{why}; try {sent + 1} of {TRIES} in {pause:g} s", file=sys.stderr)
        time.sleep(pause * random.uniform(1, 1.1))
    raise AssertionError("unreachable")


def submit(model, given, key):
    """Submits; sent again with the same key, it makes nothing twice."""
    with ask("/v1/generations", {"model": model, "input": given}, {"Idempotency-Key": key}) as answer:
        return json.load(answer)


def wait(generation):
    """Polls every 2 to 10 seconds until the generation has ended."""
    pause = 2.0
    while generation["status"] in ("queued", "running"):
        time.sleep(pause * random.uniform(0.8, 1.2))
        pause = min(10, pause * 1.3)
        with ask(f"/v1/generations/{generation['id']}") as answer:
            generation = json.load(answer)
    return generation


def place_of(wanted, generation_id, n, kind):
    """kite.mp4 for the first file, kite-2.mp4 for the second; without a name the generation's id and the type."""
    name, ending = os.path.splitext(wanted) if wanted else (generation_id, ENDINGS.get(kind, ".bin"))
    return name + ("" if n == 1 else f"-{n}") + ending


def save(generation, n, wanted):
    """Streams file n into a .part and gives it its name when it is whole."""
    path = f"/v1/generations/{generation['id']}/content" + ("" if n == 1 else f"/{n}")
    for sent in range(1, TRIES + 1):
        with ask(path) as answer:
            place = place_of(wanted, generation["id"], n, answer.headers.get_content_type())
            announced = answer.headers.get("Content-Length")
            try:
                with open(place + ".part", "wb") as part:
                    while chunk := answer.read(65536):
                        part.write(chunk)
                    size = part.tell()
            except (http.client.HTTPException, ConnectionError, socket.timeout):
                size = -1
        if size >= 0 and announced in (None, str(size)):
            os.replace(place + ".part", place)
            return place
        time.sleep(min(10, sent))
    raise ConnectionError(f"file {n} broke off {TRIES} times")


def check_url():
    """Refuses an address that no request can be sent to."""
    try:
        parts = urllib.parse.urlsplit(URL)
        # Reading the port judges it.
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not is_word(URL):
        raise Mistake(f"GENROUTER_URL: {URL!r} is not an address; it begins with http:// or https://")


def is_word(text):
    """Whether a text can stand in a header or an address."""
    return text.isascii() and text.isprintable() and " " not in text


def check_place(wanted):
    """Refuses a place where the result could not be saved."""
    place = os.path.dirname(wanted) or "."
    if not os.path.isdir(place):
        raise Mistake(f"{wanted}: there is no directory {place}")
    if os.path.isdir(wanted):
        raise Mistake(f"{wanted} is a directory; give the name of a file in it")
    if not os.access(place, os.W_OK | os.X_OK):
        raise Mistake(f"nothing can be written in the directory {place}")


def input_of(text):
    """The input as JSON."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise Mistake(f"the input is not JSON ({error})") from None
    if not isinstance(given, dict):
        raise Mistake('the input is not a JSON object like {"prompt": "a red kite"}')
    return given


def main(words):
    if not 2 <= len(words) <= 3:
        raise Mistake("usage: generate.py MODEL INPUT [FILE], as in generate.py sim-image-1 '{\"prompt\": \"a tin robot\"}' robot.png")
    model, given, wanted = words[0], input_of(words[1]), "".join(words[2:])
    key = os.environ.get("IDEMPOTENCY_KEY") or str(uuid.uuid4())
    # Every error that can be detected is reported before anything is bought.
    check_url()
    check_place(wanted)
    if not KEY or not is_word(KEY):
        raise Mistake("GENROUTER_API_KEY is not set to a key, gr_live_... or gr_test_...")
    if not is_word(key):
        raise Mistake("IDEMPOTENCY_KEY has characters that a key cannot have")
    try:
        generation = submit(model, given, key)
        print(f"{generation['id']} quoted ${generation['quoted_usd']:.2f}", file=sys.stderr)
        return fetch(wait(generation), wanted)
    except KeyboardInterrupt:
        # The same key finds the generation, whether the service had accepted it or not.
        print(f"stopped; a submitted generation continues, and the same command with IDEMPOTENCY_KEY={key} fetches it", file=sys.stderr)
        return 130


def fetch(generation, wanted):
    """Saves the files of a generation that has ended. Returns the exit code."""
    if generation["status"] == "failed":
        print(f"failed: {generation['error']['code']}: {generation['error']['message']}", file=sys.stderr)
        return 1
    for n in range(1, len(generation["output"]["urls"]) + 1):
        print(save(generation, n, wanted))
    print(f"charged ${generation['cost_usd']:.2f}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        sys.exit(0)
    try:
        sys.exit(main(sys.argv[1:]))
    except (ServiceError, Mistake) as error:
        print(error, file=sys.stderr)
    except urllib.error.URLError as error:
        print(f"no answer from {URL}: {error.reason}", file=sys.stderr)
    except (OSError, http.client.HTTPException) as error:
        # A connection that breaks in every try, or a full disk.
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(2)
