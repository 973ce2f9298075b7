"""An open notebook as a person works in it: click, type, run, read, press a button."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from support.lab import Lab
from support.learner_workspace import written

THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
DONE = re.compile(r"\[\d+\]:")
KERNEL_READY = """async () => {
    const notebook = window.jupyterapp.shell.currentWidget;
    await notebook.context.ready;
    await notebook.sessionContext.ready;
    await notebook.sessionContext.session.kernel.info;
}"""


class NotebookPage:
    """A notebook in JupyterLab; cells are named by their ids in the file."""

    def __init__(self, page: Page, lab: Lab, folder: Path, path: str) -> None:
        """Open `path`, relative to `folder`, in which the lab runs; wait for its kernel."""
        self.page = page
        cells = json.loads((folder / path).read_text(encoding="utf-8"))["cells"]
        self.order = [cell["id"] for cell in cells]
        self.sources = {cell["id"]: "".join(cell["source"]) for cell in cells}
        workspace = f"{lab.token[:4]}-{id(page)}"  # of its own: no layout of another page
        page.goto(lab.url(f"lab/workspaces/{workspace}/tree/{path}"))
        expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(self.order))
        page.evaluate(KERNEL_READY)

    def cell(self, name: str) -> Locator:
        """The cell with this id, scrolled into view."""
        cell = self.page.locator(".jp-Notebook .jp-Cell").nth(self.order.index(name))
        cell.scroll_into_view_if_needed()
        return cell

    def output(self, name: str) -> Locator:
        """What the cell has put out."""
        return self.cell(name).locator(".jp-Cell-outputArea")

    def card(self, step: str) -> Locator:
        """The card under the check of a step."""
        return self.output(f"check-{step}").locator("div:has(> strong)").first

    def write(self, name: str, text: str) -> None:
        """Select all that is in the cell and type over it."""
        self.cell(name).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def write_step(self, step: str, body: str) -> None:
        """Put `body` in the place of the step's stub."""
        self.write(f"step-{step}", written(self.sources[f"step-{step}"], **{step: body}))

    def run(self, *names: str) -> None:
        """Run code cells, one after the other, with the keyboard; wait for each.

        A cell that is folded is unfolded first: a folded one has no prompt.
        """
        for name in names:
            folded = self.cell(name).locator(".jp-InputPlaceholder")
            if folded.count():
                folded.click()
            prompt = self.cell(name).locator(".jp-InputArea-prompt")
            before = prompt.inner_text()
            self.cell(name).locator(".cm-content").click()
            self.page.keyboard.press("Shift+Enter")
            expect(prompt).not_to_have_text(before)
            expect(prompt).to_have_text(DONE)

    def run_all(self) -> None:
        """Run every cell from the menu, in a new kernel; wait for the last one."""
        self.page.get_by_role("menuitem", name="Kernel", exact=True).click()
        self.page.locator(".lm-Menu-item", has_text="Restart Kernel and Run All Cells").click()
        self.page.get_by_role("button", name="Confirm Kernel Restart").click()
        last = self.page.locator(".jp-Notebook .jp-CodeCell").last.locator(".jp-InputArea-prompt")
        expect(last).to_have_text(DONE)

    def save(self) -> None:
        """Save with the keyboard, and wait until it is saved."""
        self.page.keyboard.press("ControlOrMeta+s")
        expect(self.page.locator(".lm-TabBar-tab.jp-mod-current.jp-mod-dirty")).to_have_count(0)

    def validate(self) -> str:
        """Press nbgrader's Validate; return what its dialog says, and close it."""
        self.page.get_by_role("button", name="Validate").click()
        dialog = self.page.locator(".jp-Dialog")
        words = dialog.inner_text()
        dialog.get_by_role("button", name="Ok", exact=True).click()
        expect(dialog).to_have_count(0)
        return words

    def in_every_theme(self) -> Iterator[str]:
        """Change from theme to theme, give the name of each, and change back."""
        for name in (*THEMES, THEMES[0]):
            light = str("Dark" not in name).lower()
            self.page.evaluate(
                "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})",
                name,
            )
            expect(self.page.locator(f"body[data-jp-theme-light={light}]")).to_have_count(1)
            yield name
