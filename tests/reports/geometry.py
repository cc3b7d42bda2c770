"""What is cut off on an open page: of charts, tables and everything else that has edges."""

import json
import sys
from pathlib import Path

from formlab import browser
from tests.states import until_seen

SIZES = ((1440, 900), (768, 1024), (390, 844))

_CUT_OFF = r"""() => {
    const found = [];
    const text_of = (node) => (node.textContent || "").trim().slice(0, 60);
    const within = (inner, outer, room) => inner.left >= outer.left - room
        && inner.right <= outer.right + room && inner.top >= outer.top - room
        && inner.bottom <= outer.bottom + room;
    const number = (node) => [...document.querySelectorAll(".fl-object")]
        .indexOf(node.closest(".fl-object"));
    const report = (node, what) => found.push(`object ${number(node)}: ${what}`);
    if (document.documentElement.scrollWidth > innerWidth) {
        found.push(`the page is ${document.documentElement.scrollWidth} px wide`);
    }
    const main = document.querySelector("main").getBoundingClientRect();
    for (const box of document.querySelectorAll(".fl-object")) {
        if (box.dataset.state === "failed") report(box, text_of(box));
    }
    for (const holder of document.querySelectorAll(".fl-vega, .fl-plotly")) {
        const box = holder.getBoundingClientRect();
        if (!box.width) continue;
        if (!within(box, { ...main.toJSON(), top: -1e9, bottom: 1e9 }, 1)) report(holder, "box");
        for (const drawn of holder.querySelectorAll("svg, canvas")) {
            const edge = drawn.getBoundingClientRect();
            if (edge.width && !drawn.closest("svg svg") && !within(edge, box, 1.5)) {
                report(holder, `${drawn.tagName} of ${Math.round(edge.width)} px in a box of `
                    + `${Math.round(box.width)}`);
            }
        }
    }
    const marks = ".mark-text text, .mark-rect path, .mark-symbol path, .mark-rule line, "
        + ".mark-line path, .mark-area path";
    for (const svg of document.querySelectorAll(".fl-vega svg")) {
        const edge = svg.getBoundingClientRect();
        if (!edge.width) continue;
        const texts = [];
        for (const mark of svg.querySelectorAll(marks)) {
            const at = mark.getBoundingClientRect();
            const shown = getComputedStyle(mark).opacity !== "0" && (at.width || at.height);
            if (!shown) continue;
            if (!within(at, edge, 1.5)) report(svg, `${mark.tagName} ${text_of(mark)} is cut off`);
            // The box of a slanted text is larger than the text.
            const slanted = (mark.getAttribute("transform") || "").includes("rotate");
            if (mark.tagName === "text" && text_of(mark) && !slanted) texts.push([mark, at]);
        }
        const titles = ".role-axis-title text, .role-legend-title text, .role-title text";
        for (const title of svg.querySelectorAll(titles)) {
            if (title.textContent.endsWith("…")) report(svg, `${text_of(title)}: title shortened`);
        }
        for (const [i, [one, a]] of texts.entries()) {
            for (const [other, b] of texts.slice(i + 1)) {
                const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (across > 2 && down > 4) report(svg, `${text_of(one)} covers ${text_of(other)}`);
            }
        }
    }
    for (const text of document.querySelectorAll(".fl-plotly text")) {
        const at = text.getBoundingClientRect();
        const box = text.closest(".fl-plotly").getBoundingClientRect();
        if (at.width && !within(at, box, 2)) report(text, `${text_of(text)} is cut off`);
    }
    const cued = (scroller) => getComputedStyle(scroller).overflowX === "auto"
        && getComputedStyle(scroller).backgroundImage.includes("gradient");
    for (const node of document.querySelectorAll("main table, .fl-caption, "
        + ".fl-cards, .fl-cards *, main p, main h2")) {
        const scroller = node.closest(".fl-scroll, .fl-html, .fl-ep-table");
        const edge = node.getBoundingClientRect();
        if (!edge.width || (scroller && cued(scroller))) continue;
        const frame = (scroller || document.querySelector("main")).getBoundingClientRect();
        if (edge.right > frame.right + 1.5) report(node, `${text_of(node)} is cut off`);
    }
    return [...new Set(found)];
}"""


def draw_all(page):
    """Bring every object of the page into view until it is drawn, and to rest."""
    # Not wait_for_function: it polls with eval, which a report's policy refuses.
    waiting = """() => {
        const left = [...document.querySelectorAll('.fl-object')].filter(b => !b.dataset.state);
        left[0]?.scrollIntoView();
        return left.length;
    }"""
    until_seen(page, lambda: page.evaluate(waiting) == 0)


def cut_off(page):
    """What is cut off, covered or wider than its box on an open page of a report, one line each."""
    draw_all(page)
    return page.evaluate(_CUT_OFF)


def main(files):
    """Print what is cut off in each report at each width; `files` are pages as built."""
    for file in map(Path, files):
        for size in SIZES:
            with browser.page(file, size=size) as visit:
                lines = cut_off(visit.page)
            print(json.dumps({"page": file.name, "width": size[0], "found": lines}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
