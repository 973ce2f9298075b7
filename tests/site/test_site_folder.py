"""What `attn site` writes: a folder that stands alone, from the same files the same, or nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import KitError
from autograder.judging import time_limit
from autograder.site import in_page, site_folder
from autograder.site.in_page import ScriptPieces
from autograder.site.site_folder import NUMPY, PARTS, SiteOptions, make_site
from autograder.values.exercise import read_exercise
from support.learner_workspace import NAME, REFERENCE, ROOT

EXERCISE = read_exercise(ROOT / "assignments" / NAME)
ANSWERS = {f"assignments/{NAME}/{file}" for file in ("solution.py", "generated/rungs.json")}
STEPS = [step.name for step in EXERCISE.steps]
STUBS = (EXERCISE.folder / f"{NAME}.py").read_text(encoding="utf-8")
# Checks a step with nothing of this repository but what is in the archive.
ALONE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from autograder.site import in_page
assert in_page.__file__.startswith(sys.argv[1])
page = in_page.Page(f"{sys.argv[1]}/assignments/numpy_single_head")
code = "import numpy as np\\ndef softmax(scores):\\n    print('<b>')\\n    return scores"
answer = json.loads(page.answer(json.dumps({"cells": [["yours", code]], "step": "softmax"}), str))
heavy = {"click", "nbformat", "nbgrader", "pytest", "rich", "torch", "watchfiles"}
needless = heavy & {*sys.modules}
print(json.dumps([answer, sorted(needless)]))
"""

COURSE = "Attention & <more>"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with parts in which nothing is."""
    folder = tmp_path_factory.mktemp("parts")
    for name in PARTS:
        (folder / name).write_text('{"packages": {"numpy": {}, "pandas": {}}}', encoding="utf-8")
    with zipfile.ZipFile(folder / NUMPY, "w") as wheel:
        wheel.writestr("numpy.dist-info/licenses/LICENSE.txt", "may be used")
    return folder


@pytest.fixture(scope="module")
def site(parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a course."""
    folder = tmp_path_factory.mktemp("course") / "site"
    make_site(SiteOptions([EXERCISE], parts, course=COURSE), folder)
    return folder


@pytest.fixture(scope="module")
def with_answers(parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of somebody who learns alone."""
    folder = tmp_path_factory.mktemp("alone") / "site"
    make_site(SiteOptions([EXERCISE], parts, answers=ROOT / "solutions"), folder)
    return folder


@pytest.fixture
def page() -> in_page.Page:
    return in_page.Page(str(EXERCISE.folder))


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_check_needs_no_more_of_the_kit_than_is_in_the_archive(
    site: Path, tmp_path: Path
) -> None:
    kit = tmp_path / "kit"
    with zipfile.ZipFile(site / "kit.zip") as archive:
        archive.extractall(kit)
    assert not list(kit.rglob("solution.py")) and not list(kit.rglob("misconceptions.py"))
    command = [sys.executable, "-c", ALONE, str(kit)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    answer, needless = json.loads(run.stdout)
    assert needless == []
    assert not answer["passes"] and "softmax: 0 of 9 checks pass." in answer["html"]
    assert answer["printed"].startswith("<b>") and "<b>" not in answer["html"]


def test_the_same_files_give_the_same_site_and_every_file_is_kept_offline(
    site: Path, parts: Path, tmp_path: Path
) -> None:
    make_site(SiteOptions([EXERCISE], parts, course=COURSE), tmp_path / "again")
    files = files_of(site)
    assert files == files_of(tmp_path / "again")
    service = files["service.js"].decode()
    assert all(json.dumps(name) in service for name in files if name != "service.js")
    assert json.loads(files["pyodide/pyodide-lock.json"]) == {"packages": {"numpy": {}}}


class Outline(HTMLParser):
    """The scripts, addresses and places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[dict[str, str | None]] = []
        self.addresses: list[str] = []
        self.steps: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        if tag == "script":
            self.scripts.append(facts)
        if facts.get("class") == "step":
            self.steps.append(str(facts["id"]))
        self.addresses += [str(facts[name]) for name in ("src", "href") if name in facts]


def test_a_page_has_an_editor_for_each_step_and_leads_nowhere_else(site: Path) -> None:
    for name in ("index.html", f"{NAME}.html"):
        page = Outline((site / name).read_text(encoding="utf-8"))
        assert all("src" in each or each["type"] == "application/json" for each in page.scripts)
        assert not [each for each in page.addresses if "//" in each or each.startswith("/")]
    assert page.steps == STEPS


def test_what_needs_pytorch_is_there_to_download_with_the_kit_that_its_first_cell_installs(
    parts: Path, tmp_path: Path
) -> None:
    torch = read_exercise(ROOT / "assignments" / "torch_single_head")
    kit = ("attention_kit-1-py3-none-any.whl", b"the kit")
    size, apart = make_site(SiteOptions([EXERCISE, torch], parts, wheel=kit), tmp_path / "site")
    files = files_of(tmp_path / "site")
    page = Outline(files["index.html"].decode())
    first = json.loads(files["download/torch_single_head.ipynb"])["cells"][0]["source"]
    assert f"%pip install --quiet ./{kit[0]}" in "".join(first)
    assert f"download/{kit[0]}" in page.addresses and files[f"download/{kit[0]}"] == b"the kit"
    assert "download/torch_single_head.ipynb" in page.addresses
    assert "torch_single_head.html" not in files
    assert b"download/" not in files["service.js"]  # who reads here does not have to keep it
    assert size + apart == sum(map(len, files.values()))


def test_a_course_has_its_name_on_every_page_and_grades_come_from_elsewhere(site: Path) -> None:
    for name in ("index.html", f"{NAME}.html"):
        text = (site / name).read_text(encoding="utf-8")
        assert "Attention &amp; &lt;more&gt;" in text and "<more>" not in text
        assert "Grades come from there, never from these pages." in text


def test_lines_of_the_solutions_are_there_only_where_they_are_asked_for(
    site: Path, with_answers: Path
) -> None:
    made = {}
    for folder in (site, with_answers):
        with zipfile.ZipFile(folder / "kit.zip") as archive:
            packed = ANSWERS & {*archive.namelist()}
        page = (folder / f"{NAME}.html").read_text(encoding="utf-8")
        made[folder] = ("exponentials = np.exp(shifted)" in page, len(packed))
    assert made == {site: (False, 0), with_answers: (True, 2)}


def test_the_licenses_of_all_that_a_browser_gets_lie_beside_it(site: Path) -> None:
    told = (site / "licenses.txt").read_text(encoding="utf-8")
    source = "10.4. Distributing Source Code Form"
    for each in ("MIT License", source, "may be used", "jaxtyping", "wadler"):
        assert each in told


def test_a_folder_with_something_in_it_is_refused(parts: Path) -> None:
    with pytest.raises(KitError, match="there is something in the folder"):
        make_site(SiteOptions([EXERCISE], parts), parts)


def test_the_pieces_of_a_script_are_the_script() -> None:
    pieces = ScriptPieces.of(STUBS, STEPS)
    parts = [text for name in STEPS for text in (pieces.above[name], pieces.code[name])]
    assert "\n".join([*parts, pieces.below]) == STUBS
    assert pieces.own_code(STUBS) == pieces.code


GIVEN = ScriptPieces.of(STUBS, STEPS)
HELPER = "def double(x):\n    return 2 * x"


def saved(code: dict[str, str]) -> str:
    """The file that the page saves, see `save` in page.js."""
    parts = [text for name in STEPS for text in (GIVEN.above[name], code[name])]
    return "\n".join([*parts, GIVEN.below])


WRITTEN = {
    "a solution": lambda name, code: ScriptPieces.of(REFERENCE, STEPS).code[name],
    "a syntax error": lambda name, code: code.replace("# YOUR CODE HERE", "return ((("),
    "a quote that nothing closes": lambda name, code: code.replace('"""', '"', 1) + "\n'''",
    "another name": lambda name, code: code.replace(name, "another"),
    "no definition": lambda name, code: "x = 1",
    "nothing": lambda name, code: "",
    "blank lines": lambda name, code: f"\n\n{code}\n\n\n",
    "a helper before": lambda name, code: f"{HELPER}\n\n\n{code}",
    "a helper after": lambda name, code: f"{code}\n\n\n{HELPER}",
    "a comment before": lambda name, code: f"# mine\n@double\n{code}\n# mine",
    "the step twice": lambda name, code: f"{code}\n\n{code}",
    "our own heading": lambda name, code: f"{GIVEN.above[name]}\n{code}",
    "a heading": lambda name, code: f"# %%\n# 3 Queries, keys and values\n{code}\n# %%",
    "the whole file": lambda name, code: STUBS,
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_saved_file_comes_back_letter_for_letter(written: Callable[[str, str], str]) -> None:
    everywhere = {name: written(name, code) for name, code in GIVEN.code.items()}
    for name in STEPS:
        code = {**GIVEN.code, name: everywhere[name]}
        back = GIVEN.own_code(saved(code))
        assert saved(back) == saved(code)
        if STUBS not in code[name] and "# %%" not in code[name]:
            assert back == code
    assert saved(GIVEN.own_code(saved(everywhere))) == saved(everywhere)


def test_a_file_from_windows_comes_back_and_the_question_names_what_it_does_not_define(
    page: in_page.Page,
) -> None:
    back = page.loaded("\ufeff" + STUBS.replace("\n", "\r\n"))
    assert back.pop("question") == "Put 11 of 11 steps in the place of your code here?"
    assert back == GIVEN.code
    renamed = page.loaded(STUBS.replace("def softmax", "def soft"))
    assert renamed["question"].endswith("here? The file does not define softmax.")
    partial = page.loaded(STUBS.replace("def softmax", "softmax = np.exp\ndef soft"))
    assert partial["question"].endswith("in the place of your code here?")
    one = page.loaded("def softmax(scores):\n    return scores\n")
    assert one["question"].startswith("Put 1 of 11 steps in")
    assert "does not define initialize_weights, project_qkv, " in one["question"]


def test_what_a_learner_wrote_elsewhere_comes_along_and_prose_of_ours_does_not() -> None:
    code = GIVEN.own_code(STUBS.replace("def scale", "ROOT = 0.5\n\n\ndef scale"))
    assert code == {
        **GIVEN.code,
        "scale_scores": "ROOT = 0.5\n\n\n" + GIVEN.code["scale_scores"],
    }
    imported = STUBS.replace("import numpy as np\n", "import math\nimport numpy as np\n")
    code = GIVEN.own_code(imported)
    assert code == {**GIVEN.code, "softmax": "import math\n\n\n" + GIVEN.code["softmax"]}
    heading = "# %%\n# 5 Scaling   "
    assert heading in STUBS
    for changed in ("# 5 Scaling", "# %%\n# 5 Scaling"):  # without it, cut at the definition
        there = STUBS.replace(heading, changed)
        assert "def scale_scores" not in GIVEN.own_code(there)["compute_attention_scores"]
        assert GIVEN.own_code(there)["scale_scores"].endswith(GIVEN.code["scale_scores"])


def test_a_file_without_our_headings_is_cut_at_its_definitions() -> None:
    bare = "\n".join(line for line in STUBS.split("\n") if not line.startswith("#"))
    for name, code in GIVEN.own_code(bare).items():
        assert code.endswith(GIVEN.code[name])
    twice = GIVEN.own_code("def softmax(x):\n    return 1\n\ndef softmax(x):\n    return 2\n")
    assert list(twice) == ["softmax"] and twice["softmax"].endswith("return 2")
    assert GIVEN.own_code("print()") == {}


RIGHT = ScriptPieces.of(REFERENCE, STEPS).code


def cells_of(**code: str) -> list[tuple[str, str]]:
    """Return what a page has when this stands in the editors, and the stubs in all others."""
    written = {**GIVEN.code, **code}
    return [
        cell
        for name in STEPS
        for cell in (
            (f"the lines above {name}", GIVEN.above[name]),
            (f"your {name}", written[name]),
        )
    ]


def checked(softmax: str, step: str = "softmax", **others: str) -> dict[str, Any]:
    """Return what the page says of a step when this stands in the editors."""
    return in_page.Page(str(EXERCISE.folder)).check(cells_of(softmax=softmax, **others), step)


def ended(**changed: str) -> str:
    """Return what the page says at its end when all is right but for this."""
    return in_page.Page(str(EXERCISE.folder)).finale(
        cells_of(**{**RIGHT, **changed}), ["x = 1"], ()
    )


@pytest.mark.parametrize(
    "magic",
    [
        "{}\n%matplotlib inline\n!ls",
        "%%time\n{}",
        "{}\nsoftmax?",
        "{}\n%pwd",
        ">>> import math\n{}",
        "{}\ncheck(softmax)",
    ],
)
def test_what_only_a_notebook_understands_is_left_out_of_an_editor_as_of_a_file(magic: str) -> None:
    told = checked(magic.format(RIGHT["softmax"]))
    assert told["passes"], told["html"]


def test_an_editor_is_read_as_the_part_of_a_file_that_it_is() -> None:
    indented = checked("\n".join(f"    {line}" for line in RIGHT["softmax"].split("\n")))
    assert not indented["passes"] and "IndentationError, line 1" in indented["html"]
    prompts = checked("\n".join(f">>> {line}" for line in RIGHT["softmax"].split("\n")))
    assert not prompts["passes"]


def test_what_is_wrong_elsewhere_is_told_with_the_editor_it_is_in() -> None:
    renamed = RIGHT["softmax"].replace("def softmax", "def soft") + "\nx = = 1"
    assert "In your softmax: Python cannot read this yet: " in checked(renamed)["html"]
    told = checked(RIGHT["softmax"], scale_scores="1 / 0\n" + RIGHT["scale_scores"])
    assert told["passes"]
    assert "In your scale_scores: line 1, <code>1 / 0</code>, raises" in told["html"]
    assert "cell" not in told["html"]


@pytest.mark.parametrize(
    "end", ["quit()", "import os\nos._exit(0)", "for _ in iter(int, 1):\n    print(7)"]
)
def test_what_would_end_a_file_keeps_a_step_from_counting(end: str) -> None:
    told = checked(RIGHT["softmax"], project_qkv=f"{end}\n{RIGHT['project_qkv']}")
    assert told["passes"] and "does not count" not in told["html"]  # it stands above
    code = f"{end}\n{RIGHT['project_qkv']}"
    told = checked("", "scale_scores", project_qkv=code, scale_scores=RIGHT["scale_scores"])
    assert not told["passes"] and "8 of 8 checks pass" in told["html"], told["html"]
    assert "In your project_qkv: " in told["html"] and "does not count yet" in told["html"]
    assert told["uncounted"]
    assert "does not matter" not in told["html"]


@pytest.mark.parametrize(
    ("line", "why"),
    [("from __future__ import annotations", "from __future__ imports"), ("return 3", "'return'")],
)
def test_what_is_no_python_as_one_file_keeps_steps_from_counting(line: str, why: str) -> None:
    told = checked(RIGHT["softmax"], scale_scores=f"{line}\n{RIGHT['scale_scores']}")
    assert not told["passes"] and "9 of 9 checks pass" in told["html"], told["html"]
    assert f"as one file, Python cannot read your code ({why}" in unescape(told["html"])


def test_the_finale_asks_for_all_as_one_file() -> None:
    told = ended(scale_scores=f"from __future__ import annotations\n{RIGHT['scale_scores']}")
    assert "once all of it is one file, these do not: softmax, " in told, told
    assert "and 8 more" in told and "from __future__ imports must occur at the beginning" in told
    assert "nats a character" in ended()


def test_a_check_that_is_slow_says_so_where_it_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = "import time\n\n\n" + RIGHT["softmax"].replace(
        "\n    shifted", "\n    time.sleep(0.02)\n    shifted", 1
    )
    limits = replace(EXERCISE.limits, seconds_per_call=0.01)
    monkeypatch.setattr(in_page, "read_exercise", lambda folder: replace(EXERCISE, limits=limits))
    monkeypatch.setattr(time_limit, "WALL", 1000.0)
    assert "it is stopped after 0.01 s of processor time" in checked(wait)["html"]


def test_the_page_hears_how_long_it_may_hear_nothing_and_what_it_says_then(
    page: in_page.Page,
) -> None:
    told = list[dict[str, Any]]()
    question = {"cells": [["your softmax", f"import numpy as np\n{RIGHT['softmax']}"]]}
    page.answer(
        json.dumps({**question, "step": "softmax"}), lambda piece: told.append(json.loads(piece))
    )
    loading, *asking = [each["limit"] for each in told]
    assert loading["seconds"] == 33
    assert loading["words"].startswith("In your softmax: The top of your code was still running")
    assert {each["seconds"] for each in asking} == {9}
    assert asking[0]["words"].startswith("softmax was still running after 6 s, and was stopped.")


def test_the_page_hears_how_long_a_layer_may_read_before_it_speaks(page: in_page.Page) -> None:
    told = list[dict[str, Any]]()
    question = json.dumps({"cells": cells_of(**RIGHT), "last": ["y = 2"], "met": []})
    page.answer(question, lambda piece: told.append(json.loads(piece)))
    limit = [each["limit"] for each in told if "limit" in each][-1]
    assert limit["seconds"] == 93
    assert limit["words"].startswith("SingleHeadAttention was still running after 90 s")


@pytest.mark.parametrize("kind", ["bool", "np.int8", "np.float16"])
def test_a_mask_passes_and_is_drawn_whatever_its_ones_are_made_of(kind: str) -> None:
    code = f"{RIGHT['create_causal_mask']}.astype({kind})"
    told = checked(RIGHT["softmax"], step="create_causal_mask", create_causal_mask=code)
    assert told["passes"] and "<td" in told["html"], told["html"]


def test_a_page_speaks_of_nothing_that_it_has_not(with_answers: Path) -> None:
    page = (with_answers / f"{NAME}.html").read_text(encoding="utf-8")
    shown = re.sub(r"<script.*?</script>|<[^>]+>", "", page, flags=re.DOTALL)
    assert not re.findall(r".*(?:notebook|\bcells?\b|attn |`).*", shown)
    assert "a check shows what it prints" in shown


def test_our_own_scripts_stay_small() -> None:
    scripts = site_folder.STATIC.glob("*.js")
    assert sum(len(each.read_text(encoding="utf-8").splitlines()) for each in scripts) <= 400


def test_a_card_tells_as_many_checks_as_it_counts_and_promises_none_that_do_not_come(
    page: in_page.Page,
) -> None:
    for step in STEPS:
        card = page.check([("yours", REFERENCE)], step)["html"]
        rows = re.findall(r"<li[^>]*>(.*?)</li>", card)
        assert f"{step}: {len(rows)} of {len(rows)} checks pass." in card
        assert "when these pass" not in card, rows


def test_a_file_without_headings_that_python_cannot_read_is_put_nowhere(page: in_page.Page) -> None:
    broken = RIGHT["softmax"].replace("sum(axis=-1, keepdims=True)", "sum(axis=-1, keepdims=True")
    text = f"import numpy as np\n\n{broken}\n\n{RIGHT['scale_scores']}"
    assert list(told := page.loaded(text)) == ["unanswered"]
    assert "Python cannot read its line" in told["unanswered"]
    latin = b"gr\xf6\xdfe = 1\n".decode("utf-8", "replace")  # as a browser reads it
    assert "save it as UTF-8" in page.loaded(latin)["unanswered"]
    assert "could not be read (it is no UTF-8)" in page.loaded(f"# {latin}{STUBS}")["question"]
    assert "softmax" in page.loaded(text.replace("keepdims=True\n", "keepdims=True)\n"))


def test_what_an_older_python_cannot_read_is_named(page: in_page.Page) -> None:
    code = f"import numpy as np\n{RIGHT['softmax']}"
    assert "newer Python than 3.11" not in page.check([("yours", code)], "softmax")["html"]
    newer = f'import numpy as np\n{RIGHT["softmax"]}\n\ndef f():\n    return f"{{"a"}}"\n'
    told = page.check([("yours", newer)], "softmax")
    assert "needs a newer Python than 3.11" in told["html"]
