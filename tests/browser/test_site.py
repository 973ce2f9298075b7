"""A site in a real browser: open the page, write, check; there is nothing to install."""

from __future__ import annotations

import shutil
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from browser.contrast import too_faint
from browser.site_page import RIGHT, answer, made_site, write
from browser.system_browsers import open_chromium, open_firefox
from support.learner_workspace import NAME, start, stub_file
from support.static_host import StaticHost
from support.typed_commands import typed

OVER_QUERIES = """def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return powers / powers.sum(axis=-2, keepdims=True)
"""


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a browser puts what is saved."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module", params=[open_chromium, open_firefox])
def browser(
    playwright: Playwright, downloads: Path, request: pytest.FixtureRequest
) -> Iterator[Browser]:
    """Each of the browsers that the pages are made for."""
    with request.param(playwright, downloads) as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site, in a folder below that of its server."""
    below = tmp_path_factory.mktemp("host") / "below"
    below.mkdir()
    return made_site(below / "site")


@pytest.fixture
def host(folder: Path) -> Iterator[StaticHost]:
    """A static host, whose files the site is some levels below of."""
    with StaticHost(folder.parent.parent) as served:
        yield served


@pytest.fixture
def page(host: StaticHost, new_page: Callable[..., Page]) -> Page:
    """The page of the exercise, freshly opened."""
    opened = new_page()
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    opened.goto(f"{host.address}below/site/")
    opened.get_by_role("link", name="Single-head attention in NumPy").click()
    return opened


def test_a_learner_writes_checks_and_goes_on_without_a_network(
    page: Page, host: StaticHost
) -> None:
    assert "softmax is not written yet" in page.locator("#softmax .cm-content").inner_text()
    write(page, "softmax", OVER_QUERIES)
    assert "0 of 11 steps pass" in page.locator("header").inner_text()
    wrong = answer(page, "softmax")
    assert "softmax: " in wrong and "keys" in wrong and "yours" in wrong, wrong
    write(page, "softmax", "def softmax(scores):\n    while True:\n        scores = scores + 1\n")
    assert "was still running after 6 s at line" in answer(page, "softmax")
    asked_after = page.get_by_text("All scores of a row are equal.")
    expect(asked_after).to_be_hidden()
    speak = page.get_by_role("button", name="Let it read and speak")
    expect(speak).to_be_disabled()
    for step, code in RIGHT.items():
        write(page, step, code)
    for step in RIGHT:
        assert "checks pass" in answer(page, step)
    expect(page.locator("#count")).to_have_text("11 of 11 steps pass")
    expect(asked_after).to_be_visible()
    speak.click()
    expect(speak).to_be_disabled()  # once is enough
    shown = page.locator("#finale .shown")
    expect(shown).to_contain_text("(3.50, 0.57, 0.51) of “it”")
    expect(shown).to_contain_text("And now with your layer")
    expect(shown).to_contain_text("nats a character")
    expect(speak).to_be_enabled()
    assert "mistakes that you met" in shown.inner_text()
    expect(page.locator("#kept")).to_have_text("This page works offline now.")
    host.close()
    page.reload()
    expect(page.locator("#count")).to_have_text("11 of 11 steps pass")
    assert "checks pass" in answer(page, "softmax")


def test_what_is_saved_is_what_attn_check_reads_and_can_be_loaded_again(
    page: Page, downloads: Path, tmp_path: Path
) -> None:
    for step, code in RIGHT.items():
        write(page, step, code)
    before = {*downloads.iterdir()}
    page.get_by_role("button", name="Save as .py").click()
    file = stub_file(start(tmp_path / "work"))
    shutil.copyfile(_saved(page, downloads, before), file)
    assert typed("check", NAME, folder=file.parent.parent).code == 0
    helped = RIGHT["softmax"].replace("def softmax", "def helper():\n    return 1\n\n\ndef softmax")
    file.write_text(file.read_text("utf-8").replace(RIGHT["softmax"], helped), encoding="utf-8")
    write(page, "scale_scores", "nothing")
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("#load").set_input_files(file)
    expect(page.locator("#softmax .cm-content")).to_contain_text("def helper")
    expect(page.locator("#scale_scores .cm-content")).to_contain_text("def scale_scores")
    assert "def helper" not in page.locator("#project_qkv .cm-content").inner_text()


def _saved(page: Page, downloads: Path, before: set[Path]) -> Path:
    """Wait for a new file that is whole; Firefox's driver tells nothing of it."""
    for _ in range(100):
        page.wait_for_timeout(100)
        for each in {*downloads.iterdir()} - before:
            if RIGHT["SingleHeadAttention"].rstrip() in each.read_text(encoding="utf-8"):
                return each
    raise AssertionError("nothing was saved")


def test_what_python_cannot_read_is_told_also_where_it_is_no_function(page: Page) -> None:
    write(page, "softmax", "    return scores")
    told = answer(page, "softmax")
    assert "There is no softmax yet." in told and "IndentationError, line 1" in told, told
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("#softmax [data-act=reset]").click()
    expect(page.locator("#softmax .cm-content")).to_contain_text("softmax is not written yet")


def test_the_keyboard_alone_is_enough(page: Page) -> None:
    page.locator("#softmax .cm-content").focus()
    page.keyboard.press("Tab")  # indents, as Python needs it
    assert page.evaluate("() => document.activeElement.className").startswith("cm-content")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Check"
    page.keyboard.press("Enter")
    expect(page.locator("#softmax .answer")).to_contain_text("softmax")
    page.locator("#softmax .cm-content").press("ControlOrMeta+a")
    page.keyboard.type("def softmax(scores):\nreturn scores")  # the editor indents the second
    assert "The result is scores, unchanged." in answer(page, "softmax")


def test_after_the_hints_there_are_lines_to_sort_and_then_the_step_with_a_gap(page: Page) -> None:
    hints = page.locator("#scale_scores .hints")
    expect(page.locator(".cm-content")).to_have_count(11)
    for _ in range(3):
        page.locator("#scale_scores [data-act=hint]").click()
    expect(hints).to_contain_text("Hint 3 of 3", use_inner_text=True)
    wrong = hints.get_by_role("button", name="return attention_scores / embedding_dimension / 2")
    wrong.click()
    hints.get_by_role("button", name="Try this order").click()
    expect(hints).to_contain_text("Not yet.")
    wrong.click()
    right = hints.get_by_role("button", name="return attention_scores / np.sqrt")
    right.click()
    assert "chosen as number 1" in str(right.get_attribute("aria-label"))
    hints.get_by_role("button", name="Try this order").click()
    expect(hints).to_contain_text("Right: these lines make scale_scores.")
    wrong.click()
    expect(hints).not_to_contain_text("Right: ")  # it was another order
    wrong.click()
    expect(hints).not_to_contain_text("____", use_inner_text=True)
    more = hints.get_by_text("One hint more shows the step with a gap.")
    expect(more).to_be_visible()
    button = page.locator("#scale_scores [data-act=hint]")
    button.press("Enter")
    expect(hints.locator("pre").last).to_have_text("return attention_scores / ____")
    expect(hints.locator("pre").last).to_be_in_viewport()
    expect(more).to_be_hidden()
    expect(button).to_be_disabled()
    expect(button).to_have_text("No hint is left")
    assert "____" in page.evaluate("document.activeElement.innerText")
    page.reload()
    expect(button).to_be_disabled()
    expect(hints).to_contain_text("Choose them in their order.", use_inner_text=True)
    expect(hints).to_contain_text("What belongs there?", use_inner_text=True)


@pytest.mark.parametrize(
    ("browser", "theme"),
    [
        (open_chromium, "light"),
        (open_chromium, "dark"),
        (open_firefox, "light"),
        (partial(open_firefox, dark=True), "dark"),
    ],
    indirect=["browser"],
)
def test_text_can_be_read_and_nothing_is_wider_than_a_small_screen(
    page: Page, theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme)
    assert page.evaluate("theme => matchMedia(`(prefers-color-scheme: ${theme})`).matches", theme)
    page.set_viewport_size({"width": 400, "height": 800})
    write(page, "softmax", OVER_QUERIES)
    answer(page, "softmax")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert too_faint(page.locator("body")) == []


def test_two_tabs_do_not_overwrite_each_other(page: Page) -> None:
    with page.expect_popup() as opened:
        page.evaluate("() => { window.open(location.href); }")
    other = opened.value
    expect(other.locator("#softmax .cm-content")).to_contain_text("softmax is not written yet")
    write(page, "softmax", RIGHT["softmax"])
    expect(other.locator("#kept")).to_contain_text("written in another tab")
    write(other, "softmax", "nothing")
    expect(other.locator("#softmax .cm-content")).to_contain_text("softmax is not written yet")
    other.reload()
    expect(other.locator("#softmax .cm-content")).to_contain_text("exponentials")


def test_an_answer_under_code_that_has_changed_since_says_so(page: Page) -> None:
    told, old = page.locator("#softmax .answer"), "this answer is of the code before"
    write(page, "softmax", RIGHT["softmax"])
    assert old not in answer(page, "softmax")
    write(page, "softmax", OVER_QUERIES)
    expect(told).to_contain_text(old)
    expect(told).to_have_css("filter", "grayscale(1)")
    assert old not in answer(page, "softmax")
    expect(told).to_have_css("filter", "none")
    page.locator("#softmax .cm-content").press("ControlOrMeta+Enter")
    write(page, "softmax", RIGHT["softmax"])
    expect(told).to_contain_text(old)
    expect(page.locator("#count")).to_have_text("0 of 11 steps pass")


def test_an_answer_that_does_not_count_yet_is_old_as_soon_as_any_code_changes(page: Page) -> None:
    write(page, "project_qkv", f"quit()\n{RIGHT['project_qkv']}")
    write(page, "scale_scores", RIGHT["scale_scores"])
    assert "does not count yet" in answer(page, "scale_scores")
    write(page, "project_qkv", RIGHT["project_qkv"])
    told = page.locator("#scale_scores .answer")
    expect(told).to_contain_text("this answer is of the code before")


def test_sites_of_one_host_keep_what_is_written_apart(page: Page) -> None:
    write(page, "softmax", RIGHT["softmax"])
    assert page.evaluate("() => Object.keys(localStorage)") == [
        f"attention-kit /below/site/ {NAME}"
    ]
    page.reload()
    expect(page.locator("#softmax .cm-content")).to_contain_text("exponentials")


def test_a_page_never_writes_over_what_is_newer_than_it(page: Page) -> None:
    write(page, "softmax", "older")
    key, newer = f"attention-kit /below/site/ {NAME}", '{"code":{"softmax":"newer"}}'
    page.evaluate("([key, newer]) => { localStorage[key] = newer; }", [key, newer])
    write(page, "softmax", "older still")
    expect(page.locator("#kept")).to_contain_text("written in another tab")
    assert page.evaluate("key => localStorage[key]", key) == newer
    page.evaluate(
        "window.was = dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"
    )
    expect(page.locator("#softmax .cm-content")).to_have_text("newer")
    page.wait_for_function("() => !window.was")


def test_a_page_that_comes_back_shows_the_newest_code(
    host: StaticHost, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.goto(f"{host.address}below/site/{NAME}.html")
    write(page, "softmax", "older")
    page.get_by_role("link", name="All exercises").click()
    page.get_by_role("link", name="Single-head attention in NumPy").click()
    write(page, "softmax", "newer")
    page.evaluate("() => { setTimeout(() => history.go(-2)); }")
    page.wait_for_timeout(2_000)
    expect(page.locator("#softmax .cm-content")).to_have_text("newer")
    page.locator("#softmax .cm-content").press("End")
    page.keyboard.type("!")
    assert "newer" in page.evaluate("() => Object.values(localStorage)[0]")


ATTACK = """import gc, sys
try:
    import js
    from pyodide.code import run_js
    run_js("fetch")
except BaseException as error:
    print("no script:", type(error).__name__)
frame, found = sys._getframe(), [*map(sys.modules.get, ["js", "pyodide_js"]), *gc.get_objects()]
while frame:
    found += frame.f_locals.values()
    frame = frame.f_back
for each in found:
    if "JsProxy" in type(each).__name__ or type(each) is type(sys):
        for name in {names}:
            if "Js" in type(getattr(each, name, None)).__name__:
                print("got", name)
        try:
            print("got", each.constructor.constructor("return 42")())
        except Exception:
            pass
print("the end")
"""
NAMES = (
    *("caches", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "indexedDB", "Worker"),
    *("BroadcastChannel", "importScripts", "navigator", "eval", "setTimeout", "postMessage"),
)


@pytest.mark.parametrize("guarded", [True, False])
def test_code_in_python_gets_none_of_the_rights_of_the_site(
    folder: Path, new_page: Callable[..., Page], tmp_path: Path, guarded: bool
) -> None:
    site = shutil.copytree(folder, tmp_path / "site")
    if not guarded:  # whoever gets hold of a global scope in spite of all
        _rewrite(
            site / "kit.zip", "autograder/site/in_page.py", "_BROWSER = (", "_BROWSER = () and ("
        )
    with StaticHost(site) as host:
        page = new_page()
        page.goto(f"{host.address}{NAME}.html")
        attack = ATTACK.replace("{names}", repr(NAMES))
        write(page, "softmax", f"{attack}\n\ndef softmax(scores):\n    return scores")
        told = answer(page, "softmax")
    assert "no script: " in told and "the end" in told and "got" not in told, told


def _rewrite(archive: Path, name: str, old: str, new: str) -> None:
    with zipfile.ZipFile(archive) as before:
        files = {each: before.read(each) for each in before.namelist()}
    assert old.encode() in files[name]
    files[name] = files[name].replace(old.encode(), new.encode())
    with zipfile.ZipFile(archive, "w") as after:
        for each, content in files.items():
            after.writestr(each, content)


FORGED = """import sys
sys.modules["autograder.site.in_page"].Card.html = lambda card: (
    "<p onclick=x style='position:fixed'>told</p><meta http-equiv=refresh content='0;url=/else'>"
    "<style>header { display: none }</style><a href=https://example.org>Sign in</a><input><svg>"
)


def softmax(scores):
    return scores
"""


def test_of_a_forged_answer_only_what_a_card_is_made_of_is_shown(page: Page) -> None:
    write(page, "softmax", FORGED)
    answer(page, "softmax")
    assert page.locator("#softmax .answer").inner_html() == '<p style="position:fixed">told</p>'
    expect(page.locator("#softmax .answer")).to_have_css("contain", "paint")


def test_a_pass_counts_only_with_the_code_that_it_was_given_for(page: Page) -> None:
    helped = RIGHT["scale_scores"].replace("return ", "return one() * ")
    write(page, "softmax", f"def one():\n    return 1\n\n\n{RIGHT['softmax']}")
    write(page, "scale_scores", helped)
    for step in ("softmax", "scale_scores"):
        assert "checks pass" in answer(page, step)
    expect(page.locator("#count")).to_have_text("2 of 11 steps pass")
    write(page, "softmax", RIGHT["softmax"])
    expect(page.locator("#count")).to_have_text("0 of 11 steps pass")
    expect(page.locator("#scale_scores .answer")).to_contain_text("of the code before")


def test_code_that_is_nested_too_deeply_is_named_as_that(page: Page) -> None:
    write(page, "softmax", f"x = {'+'.join(20_000 * ['1'])}\n{RIGHT['softmax']}")
    assert "nested, too deeply for a browser" in answer(page, "softmax")


def test_python_that_cannot_be_interrupted_is_started_anew_and_the_code_stays(page: Page) -> None:
    page.clock.install()
    code = "def softmax(scores):\n    return sum(iter(int, 1))\n"
    write(page, "softmax", code)
    expect(page.locator("#python")).to_have_text("Python is ready.")
    page.locator("#softmax .cm-content").press("ControlOrMeta+Enter")
    time.sleep(1)  # of its own, which is no time of the page's
    page.clock.fast_forward(9_500)
    told = page.locator("#softmax .answer")
    expect(told).to_contain_text("Python was started anew")
    expect(told).to_contain_text("softmax was still running after 6 s, and was stopped.")
    write(page, "softmax", RIGHT["softmax"])
    assert "checks pass" in answer(page, "softmax")


DAMAGED = {
    '{"code": null}': "softmax is not written yet",
    '{"code": {"softmax": 5, "scale_scores": "good"}}': "softmax is not written yet",
    '{"code": {"softmax": "mine"}, "hints": 7}': "mine",
    '"' + 1_000_000 * "x" + '"': "softmax is not written yet",
    "no JSON": "softmax is not written yet",
}


def test_what_was_kept_and_is_damaged_is_put_aside_and_what_can_be_read_of_it_is_there(
    page: Page, downloads: Path
) -> None:
    key = f"attention-kit /below/site/ {NAME}"
    said = page.locator("#kept")
    expect(page.locator(".cm-content")).to_have_count(11)
    for kept, code in DAMAGED.items():
        page.evaluate("([key, kept]) => { localStorage[key] = kept; }", [key, kept])
        page.reload()
        expect(page.locator("#softmax .cm-content")).to_contain_text(code)
        expect(page.locator(".cm-content")).to_have_count(11)
        expect(said).to_contain_text("is damaged")
        assert kept in page.evaluate("Object.values(localStorage)")
    before = {*downloads.iterdir()}
    page.locator("#kept a").click()
    while not any(each.read_text("utf-8") == kept for each in {*downloads.iterdir()} - before):
        page.wait_for_timeout(100)
    page.reload()
    expect(page.locator(".cm-content")).to_have_count(11)
    expect(said).not_to_contain_text("is damaged")


def test_a_list_of_names_takes_no_key_and_lies_over_no_answer(page: Page) -> None:
    names, editor = page.locator(".cm-tooltip-autocomplete"), page.locator("#softmax .cm-content")
    begun = "def softmax(scores):\n    return sco"

    def begin() -> None:
        write(page, "softmax", begun[:-3])
        page.keyboard.type(begun[-3:])
        expect(names).to_be_visible()
        page.wait_for_timeout(200)  # a list that has only just opened takes no key

    begin()
    page.keyboard.press("Enter")
    assert editor.inner_text().rstrip() == begun
    begin()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert editor.inner_text() == f"{begun}res"
    begin()
    answer(page, "softmax")
    expect(names).to_have_count(0)
    begin()
    page.keyboard.press("Escape")
    expect(names).to_have_count(0)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Check"


def test_a_page_in_which_no_script_runs_says_how_it_is_served(
    folder: Path, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    # As where the page is opened as a file: but a Firefox that is driven runs scripts even there.
    shutil.copyfile(folder / f"{NAME}.html", tmp_path / f"{NAME}.html")
    shutil.copyfile(folder / "page.css", tmp_path / "page.css")
    with StaticHost(tmp_path) as host:
        page = new_page()
        page.goto(f"{host.address}{NAME}.html")
        expect(page.get_by_text("python -m http.server")).to_be_visible()


def test_a_link_leads_to_the_lesson_of_a_step(page: Page) -> None:
    page.get_by_role("link", name="5 Scaling").click()
    expect(page.get_by_role("heading", name="5. Scaling")).to_be_in_viewport()
    top = page.locator("#about-scale_scores").bounding_box()
    header = page.locator("header").bounding_box()
    assert top and header and top["y"] >= header["height"]


def test_a_first_visit_fetches_every_file_once(
    host: StaticHost, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.goto(f"{host.address}below/site/{NAME}.html")
    expect(page.locator("#kept")).to_have_text("This page works offline now.")
    files = Counter(path for path in host.sent if "pyodide/" in path or path.endswith(".zip"))
    if page.context.browser and page.context.browser.browser_type.name == "chromium":
        del files["/below/site/pyodide/pyodide.asm.wasm"]  # more than it keeps for a test in memory
    assert len(files) >= 5 and {*files.values()} == {1}


@pytest.mark.parametrize(
    "words", ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>"]
)
def test_what_a_learner_writes_never_runs_as_html(page: Page, words: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    code = f"def softmax(scores):\n    print({words!r})\n    raise ValueError({words!r})\n"
    write(page, "softmax", code)
    assert answer(page, "softmax").count(words) >= 2
    page.reload()
    assert words in page.locator("#softmax .cm-content").inner_text()


@pytest.mark.parametrize("file", ["pyodide.asm.wasm", "python_stdlib.zip", "numpy-", "kit.zip"])
def test_python_of_which_a_file_is_missing_says_that_it_could_not_be_loaded(
    folder: Path, new_page: Callable[..., Page], tmp_path: Path, file: str
) -> None:
    site = shutil.copytree(folder, tmp_path / "site")
    (gone,) = (path for path in site.rglob("*") if path.name.startswith(file) and path.is_file())
    gone.unlink()
    with StaticHost(site) as host:
        page = new_page()
        page.goto(f"{host.address}{NAME}.html")
        expect(page.locator("#python")).to_have_text(
            "Python could not be loaded. To try once more, load this page again. "
            "These pages are tested in Chromium and Firefox."
        )
        assert answer(page, "softmax") == "Python is not there."
        assert "offline" not in page.locator("#kept").inner_text()


def test_a_file_that_is_loaded_while_python_loads_waits_and_then_says_what_came_of_it(
    page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("x = 1", encoding="utf-8")
    page.on("dialog", lambda dialog: dialog.accept())
    expect(page.locator("#softmax .cm-content")).to_be_visible()
    page.evaluate(
        "new MutationObserver(() => { (window.told ??= []).push("
        "document.getElementById('kept').textContent); })"
        ".observe(document.getElementById('kept'), { childList: true })"
    )
    page.locator("#load").set_input_files(file)
    kept = page.locator("#kept")
    expect(kept).to_have_text("mine.py holds no step of this exercise as Python code.")
    assert page.evaluate("told")[0] == "mine.py is read as soon as Python is ready."
    large = tmp_path / "large.py"
    large.write_bytes(1_000_001 * b"x")
    page.locator("#load").set_input_files(large)
    expect(kept).to_have_text("large.py was not read: it is larger than 1 MB.")
    file.write_text(RIGHT["softmax"], encoding="utf-8")
    page.locator("#load").set_input_files(file)
    expect(kept).to_have_text("1 of 11 steps came from mine.py; each is checked once.")
    expect(page.locator("#softmax .answer")).to_contain_text("9 of 9 checks pass")
    assert page.locator("#softmax .cm-line").first.inner_text().startswith("def softmax(")


@pytest.mark.parametrize("width", [400, 700])
def test_what_the_header_says_stays_in_sight_on_small_screens(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("#SingleHeadAttention").scroll_into_view_if_needed()
    expect(page.locator("#python")).to_be_in_viewport()
    assert page.evaluate("document.querySelector('header').offsetHeight") < 160


def test_a_browser_in_which_python_cannot_run_says_so_and_names_those_that_can(
    host: StaticHost, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.add_init_script("delete window.WebAssembly")
    page.goto(f"{host.address}below/site/{NAME}.html")
    expect(page.locator("#python")).to_contain_text("has no WebAssembly")
    expect(page.locator("#python")).to_contain_text("Chromium and Firefox")
    write(page, "softmax", RIGHT["softmax"])
    assert answer(page, "softmax") == "Python is not there."
