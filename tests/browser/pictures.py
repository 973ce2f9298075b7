"""Take the pictures of docs/pictures from the real product: `make pictures`.

Each PNG carries the words that it shows, so that a test can say whether they are still the words
of the product (tests/browser/test_pictures.py).
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, FloatRect, Locator, Page

from browser.notebook_page import NotebookPage
from browser.site_page import write
from browser.system_browsers import CHROMIUM, PATIENCE, missing_browser, open_chromium, playing
from support.lab import Home, Lab, start_lab
from support.learner_workspace import NAME, ROOT, WRONG_SOFTMAX
from support.static_host import StaticHost
from support.typed_commands import ATTN

PICTURES = ROOT / "docs" / "pictures"
SHOWN = "Description"  # PNG's own keyword for it
SHARPNESS = 2  # pixels of the picture for one of the page
COLORS = 192  # with fewer, the colors of code are not those of the page
MARGIN = 12  # of the page's pixels
EDGE = 2  # the frame of the cell beside

# Who is in the class that is shown, and which sample of tests/sample_class they hand in.
CLASS = {
    "ada": "reference",
    "ben": "mistake_not_scaled",
    "carla": "half_finished",
    "dmitri": "correct_einsum",
    "elif": "mistake_keys_reversed",
    "fatima": "mistake_softmax_over_queries",
    "george": "hostile_endless_loop",
    "hana": "correct_loops",
    "ivan": "mistake_not_scaled",
    "jin": "broken_syntax",
    "kofi": "untouched_notebook",
}
SHOWN_STUDENT = "fatima"


@dataclass(frozen=True)
class Picture:
    """A part of a page: the name of its file, its pixels, its words."""

    name: str
    png: bytes
    words: str

    def save(self, folder: Path) -> Path:
        """Write the PNG, with few colors, and its words in it."""
        facts = PngInfo()
        facts.add_itxt(SHOWN, self.words)
        file = folder / f"{self.name}.png"
        image = Image.open(io.BytesIO(self.png)).convert("RGB").quantize(COLORS)
        image.save(file, optimize=True, pnginfo=facts)
        return file


def words_in(file: Path) -> str:
    """The words that a saved picture shows."""
    with Image.open(file) as image:
        return str(image.info[SHOWN])


def take(browser: Browser, folder: Path, home: Home, lab: Lab) -> Iterator[Picture]:
    """Take every picture; work in `folder`, which is empty, and in the `home` where `lab` runs."""
    yield check_in_a_notebook(browser, home, lab)
    yield check_in_a_page(browser, folder)
    pages = graded_class(folder)
    with sharp_page(browser, width=1240, height=1100) as page:  # high enough for all rows
        page.goto((pages / "index.html").as_uri())
        shown = [f"section[aria-labelledby={each}]" for each in ("students", "needs-you")]
        yield picture("class-page", page, *map(page.locator, ("header", *shown)))
    with sharp_page(browser, width=820, height=800) as page:
        page.goto((pages / f"{SHOWN_STUDENT}.html").as_uri())
        shown = ["header", "section[aria-labelledby=first]", "#step-1", "#step-2"]
        yield picture("feedback-page", page, *map(page.locator, shown))


def sharp_page(browser: Browser, width: int, height: int) -> Page:
    """A new page with nothing remembered, drawn with twice as many pixels."""
    page = browser.new_page(
        viewport={"width": width, "height": height}, device_scale_factor=SHARPNESS
    )
    page.set_default_timeout(PATIENCE)
    return page


def check_in_a_notebook(browser: Browser, home: Home, lab: Lab) -> Picture:
    """A wrong softmax in JupyterLab, and what the check says about it."""
    shutil.copytree(ROOT / "assignments" / NAME, home.folder / "pictures" / NAME)
    # High enough that nothing has to be scrolled: what is cut off would not be drawn.
    with sharp_page(browser, width=1180, height=3000) as page:
        notebook = NotebookPage(page, lab, home.folder, f"pictures/{NAME}/{NAME}.ipynb")
        notebook.write_step("softmax", WRONG_SOFTMAX)
        notebook.run("setup", "given-001", "step-softmax", "check-softmax")
        notebook.card("softmax").wait_for()
        cells = (notebook.cell(f"{part}-softmax") for part in ("step", "check"))
        return picture("check-in-a-notebook", page, *cells, margin=-EDGE)


def check_in_a_page(browser: Browser, folder: Path) -> Picture:
    """A wrong softmax on a page of a site, and what the check says about it."""
    Home(folder).run(ATTN, "site", folder / "site", "--exercise", NAME)
    with StaticHost(folder / "site") as host, sharp_page(browser, width=820, height=3000) as page:
        page.goto(f"{host.address}{NAME}.html")
        write(page, "softmax", f"def softmax(scores):\n{WRONG_SOFTMAX}")
        page.keyboard.press("ControlOrMeta+Enter")
        page.locator("#softmax .answer table").first.wait_for()
        page.locator("#softmax .cm-content").blur()  # a cursor blinks
        shown = (".editor", ".answer table >> nth=0")
        return picture("check-in-a-page", page, *(page.locator(f"#softmax {e}") for e in shown))


def graded_class(folder: Path) -> Path:
    """Run `attn course demo` on the class that is shown; return the folder of its pages."""
    samples, handed_in = ROOT / "tests" / "sample_class" / NAME, folder / "class" / NAME
    handed_in.mkdir(parents=True)
    for student, sample in CLASS.items():
        shutil.copy(samples / f"{sample}.py", handed_in / f"{student}.py")
    course = folder / "course"
    Home(folder).run(ATTN, "course", "demo", course, "--class", folder / "class")
    return course / "graded" / NAME / "feedback"


def picture(name: str, page: Page, *parts: Locator, margin: int = MARGIN) -> Picture:
    """A picture of the page from the first of the parts, as wide as it is, down to the last."""
    boxes = [part.bounding_box() for part in parts]
    first, last = boxes[0], boxes[-1]
    assert first and last, f"{name}: it is not in the page"
    top, bottom = first["y"] - margin, last["y"] + last["height"] + margin
    clip = FloatRect(
        x=first["x"] - margin, y=top, width=first["width"] + 2 * margin, height=bottom - top
    )
    page.mouse.move(0, 0)  # nothing is under it, so nothing lights up
    shot = page.screenshot(clip=clip, full_page=True, animations="disabled", caret="hide")
    return Picture(name, shot, "\n".join(part.inner_text() for part in parts))


def main() -> int:
    """Take every picture anew."""
    if missing := missing_browser(CHROMIUM):
        print(f"error: {missing}", file=sys.stderr)
        return 2
    with (
        tempfile.TemporaryDirectory() as folder,
        playing() as playwright,
        open_chromium(playwright) as browser,
    ):
        home = Home(Path(folder) / "home").made()
        lab = start_lab(home, home.folder)
        try:
            for each in take(browser, Path(folder), home, lab):
                file = each.save(PICTURES)
                print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")
        finally:
            lab.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
