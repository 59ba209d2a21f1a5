"""The report as a customer opens it: the golden pages, which the unit tests keep equal to what is
rendered, in headless Chromium."""

import os
import pathlib
import re
import subprocess

import pytest

from devtools import Browser

GOLDEN = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"]) / "tests" / "golden"
A4_WIDTH = 794  # CSS pixels at 96 per inch
A4_TEXT_WIDTH = 688  # between the margins of the style sheet
VERDICT = {"en": "Not accepted", "zh": "不通过"}


@pytest.fixture(scope="module")
def browser():
    with Browser(deadline=200) as one:
        yield one


@pytest.fixture(params=["en", "zh"])
def lang(request):
    return request.param


def page_of(lang):
    return GOLDEN / f"report.{lang}.html"


def test_opens_without_error_and_fetches_nothing(browser, lang):
    events = browser.open(page_of(lang))
    assert browser.evaluate("document.documentElement.lang").startswith(lang)
    requests = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    assert requests == [f"file://{page_of(lang)}"]
    complaints = [
        e
        for e in events
        if e["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    ]
    assert complaints == []


def test_has_no_script_and_nothing_to_fetch(lang):
    text = page_of(lang).read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img|iframe|object|embed)\b|@import|url\(", text)
    assert not re.search(r"\b(src|href|srcset|data)=", text)


@pytest.mark.parametrize("width", [1280, A4_WIDTH, 360])
def test_is_not_wider_than_the_window(browser, lang, width):
    browser.open(page_of(lang), width=width)
    assert browser.evaluate("window.innerWidth") == width
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width, media", [(1280, "screen"), (A4_TEXT_WIDTH, "print")])
def test_no_table_needs_scrolling(browser, lang, width, media):
    browser.open(page_of(lang), width=width, media=media)
    too_wide = browser.evaluate(
        "[...document.querySelectorAll('.wide')].filter(e => e.querySelector('table').offsetWidth > e.clientWidth + 1)"
        ".map(e => e.querySelector('caption').textContent)"
    )
    assert too_wide == []


def test_the_verdict_is_in_sight_before_any_scrolling(browser, lang):
    browser.open(page_of(lang))
    bottom = browser.evaluate("document.querySelector('.counts').getBoundingClientRect().bottom")
    assert 0 < bottom < 700
    assert VERDICT[lang] in browser.evaluate("document.querySelector('.verdict').textContent")


def test_tables_and_charts_can_be_read_aloud(browser, lang):
    browser.open(page_of(lang))
    assert browser.evaluate("document.querySelectorAll('table').length") > 5
    assert browser.evaluate("document.querySelectorAll('table:not(:has(> caption))').length") == 0
    assert browser.evaluate("document.querySelectorAll('th:not([scope])').length") == 0
    assert browser.evaluate("document.querySelectorAll('svg').length") > 5
    assert browser.evaluate(
        "[...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-labelledby')"
        ".split(' ').every(id => document.querySelectorAll('#' + id).length == 1))"
    )


def luminance(colour):
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_contrast_of_at_least_4_5(browser, lang):
    """WCAG 2.1, 1.4.3, for every text in the page against the nearest background."""
    browser.open(page_of(lang))
    pairs = browser.evaluate(
        """
        (() => {
          const seen = new Set();
          const background = e => {
            for (; e; e = e.parentElement) {
              const c = getComputedStyle(e).backgroundColor;
              if (!/, 0\\)$/.test(c)) return c;
            }
            return 'rgb(255, 255, 255)';
          };
          for (const e of document.body.querySelectorAll('*')) {
            if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
            if (['title', 'desc'].includes(e.localName)) continue;
            const style = getComputedStyle(e);
            if (e.localName == 'text' && e.classList.contains('cell')) continue;
            seen.add((e.localName == 'text' ? style.fill : style.color) + '|' + background(e));
          }
          return [...seen];
        })()
        """
    )
    assert len(pairs) > 5
    for pair in pairs:
        ink, paper = (luminance(c) for c in pair.split("|"))
        ratio = (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05)
        assert ratio >= 4.5, f"{pair}: {ratio:.2f}"


def test_prints_on_a4_with_the_conclusion_on_page_1(browser, lang, tmp_path):
    browser.open(page_of(lang))
    pdf = tmp_path / "report.pdf"
    pdf.write_bytes(browser.pdf())
    info = subprocess.run(["pdfinfo", pdf], capture_output=True, text=True, check=True).stdout
    pages = int(re.search(r"Pages:\s+(\d+)", info)[1])
    assert 1 < pages < 15
    assert re.search(r"Page size:\s+59[45]\S* x 84[12]", info)

    def text(page):
        command = ["pdftotext", "-f", str(page), "-l", str(page), "-layout", pdf, "-"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert VERDICT[lang] in text(1)
    assert re.search(rf"\b{pages}\s*/\s*{pages}\b", text(pages))
