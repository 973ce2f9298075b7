"""The contrast of text against what is behind it, as WCAG 2 defines it, measured in the page."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator

LEAST = 4.5  # WCAG 2, level AA, text of normal size
# A canvas turns every notation of a color into numbers; backgrounds are laid over each other.
SCRIPT = """root => {
    const brush = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const numbers = color => {
        brush.clearRect(0, 0, 1, 1);
        brush.fillStyle = color;
        brush.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) => {
        const mixed = [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
        return [...mixed, 1];
    };
    const behind = element => {
        if (!element) return [255, 255, 255, 1];
        const own = numbers(getComputedStyle(element).backgroundColor);
        return own[3] === 1 ? own : over(own, behind(element.parentElement));
    };
    const light = color => {
        const [r, g, b] = color.slice(0, 3).map(c => c / 255).map(
            c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
        const text = texts.currentNode.data.trim();
        const element = texts.currentNode.parentElement;
        if (!text || !element.checkVisibility()) continue;
        let opacity = 1;
        for (let each = element; each; each = each.parentElement) {
            opacity *= Number(getComputedStyle(each).opacity);
        }
        const below = behind(element);
        const color = numbers(getComputedStyle(element).color);
        color[3] *= opacity;
        const pair = [light(over(color, below)), light(below)].sort((a, b) => b - a);
        found.push({text, ratio: (pair[0] + 0.05) / (pair[1] + 0.05)});
    }
    return found;
}"""


@dataclass(frozen=True)
class Reading:
    """A piece of text and the ratio of its contrast, 1 to 21."""

    text: str
    ratio: float


def readings(part: Locator) -> list[Reading]:
    """Measure every visible text in a part of a page."""
    return [Reading(each["text"], each["ratio"]) for each in part.evaluate(SCRIPT)]


def too_faint(part: Locator) -> list[Reading]:
    """The texts in a part of a page that are hard to read; at least one text has to be there."""
    found = readings(part)
    assert found, "no text is visible"
    return [reading for reading in found if reading.ratio < LEAST]
