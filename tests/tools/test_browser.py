"""The site in a browser: nothing sticks out of a phone, colours can be read, the search answers questions."""

import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAGES = (
    *("index", "README", "docs/first-model", "docs/performance", "docs/coming-from-keras"),
    *("docs/guides/cheat-sheet", "docs/guides/from-pytorch", "docs/guides/run-an-export"),
    *("docs/file-format", "docs/extreme-values", "examples/vae_mnist", "reference/index"),
    *("reference/tfkit.layers", "reference/tfkit.layers.Dense", "reference/tfkit.models.Model"),
    *("reference/tfkit.ops", "reference/tfkit.optimizers.Adam"),
)
# Widths do not depend on the theme, nor colours on the width.
VIEWS = [(page, *view) for page in PAGES for view in ((1280, "light"), (390, "dark"))]
# What somebody who knows Keras or PyTorch types, and the page that answers.
QUESTIONS = {
    "custom loss": "docs/guides/custom-loss",
    "custom layer": "docs/guides/custom-layer",
    "several outputs": "docs/guides/several-outputs",
    "multiple outputs": "docs/guides/several-outputs",
    "class weights": "docs/guides/class-weights",
    "imbalanced data": "docs/guides/class-weights",
    "confusion matrix": "docs/guides/confusion-matrix",
    "loss is nan": "docs/guides/nan-loss",
    "transfer learning": "docs/guides/transfer-learning",
    "freeze layers": "docs/guides/transfer-learning",
    "mixed precision": "docs/guides/mixed-precision",
    "run onnx": "docs/guides/run-an-export",
    "litert": "docs/guides/run-an-export",
    "openvino": "docs/guides/run-an-export",
    "torch.export": "docs/guides/run-an-export",
    "stablehlo": "docs/guides/run-an-export",
    "coming from keras": "docs/coming-from-keras",
    "coming from pytorch": "docs/guides/from-pytorch",
    "state_dict": "docs/guides/from-pytorch",
    "zero_grad": "docs/guides/from-pytorch",
    "DataLoader": "docs/guides/from-pytorch",
    "faq": "docs/guides/faq",
    "reproducible results": "docs/guides/faq",
    "cheat sheet": "docs/guides/cheat-sheet",
    "save and load a model": "docs/guides/save-and-load",
    "early stopping": "reference/tfkit.callbacks.EarlyStopping",
    "train loop": "docs/guides/from-pytorch",
    "tf serving": "docs/export",
    "several gpus": "docs/scaling",
    "quantization": "docs/quantization",
}


class Visited(http.server.SimpleHTTPRequestHandler):
    """Serves a site, with the page that visits it and its orders."""

    orders = json.dumps(
        {
            "looks": [
                {"page": f"{page}.html", "width": width, "theme": theme}
                for page, width, theme in VIEWS
            ],
            "questions": list(QUESTIONS),
        }
    )

    def do_GET(self):
        texts = {
            "/visits.html": HERE.joinpath("visits.html").read_text(),
            "/orders.json": self.orders,
        }
        if self.path not in texts:
            return super().do_GET()
        body = texts[self.path].encode()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(self.path))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.server.seen = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.is_done.set()

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def seen(site, tmp_path_factory):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    handler = functools.partial(Visited, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.is_done = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        profile = tmp_path_factory.mktemp("profile")
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        address = f"http://127.0.0.1:{server.server_port}/visits.html"
        process = subprocess.Popen(
            [browser, *options, "--remote-debugging-port=0", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert server.is_done.wait(300), "the browser did not end"
        finally:
            process.kill()
            process.wait()
            server.shutdown()
    assert "error" not in server.seen, server.seen
    return server.seen


@pytest.fixture(scope="module")
def views(seen):
    return dict(zip(VIEWS, seen["looks"], strict=True))


def test_no_page_is_wider_than_the_screen(views):
    wide = {view: it["width"] for view, it in views.items() if it["width"] > view[1]}
    assert not wide


def test_pictures_are_shown(views):
    assert not [blank for it in views.values() for blank in it["blank"]]


def luminance(colour):
    """The relative luminance of a colour, of the Web Content Accessibility Guidelines 2.2."""
    parts = [each / 255 for each in colour[:3]]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colours):
    low, high = sorted(luminance(colours[each]) for each in ("text", "behind"))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_black_on_white():
    assert contrast({"text": [0, 0, 0], "behind": [255, 255, 255]}) == pytest.approx(21)


def test_text_can_be_read(views):
    """Level AA asks for a contrast of 4.5."""
    found = {
        (*view, each["part"]): round(contrast(each), 2)
        for view, it in views.items()
        for each in it["colours"]
    }
    assert len(found) > 100
    assert not {view: ratio for view, ratio in found.items() if ratio < 4.5}


def test_themes_differ(views):
    light, dark = (views[view]["colours"][0] for view in VIEWS if view[0] == "index")
    assert luminance(light["behind"]) > 0.8 > 0.1 > luminance(dark["behind"])


def test_questions_are_answered_by_the_first_three_results(seen):
    answers = dict(zip(QUESTIONS, seen["answers"], strict=True))
    missed = {
        question: answers[question]
        for question, page in QUESTIONS.items()
        if f"{page}.html" not in answers[question]
    }
    assert not missed
