"""The report as a customer opens it: the golden pages, which the unit tests keep equal to what is
rendered, in headless Chromium."""

import os
import pathlib
import re
import subprocess

import pytest

from devtools import Browser

SOURCE = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
GOLDEN = SOURCE / "tests" / "golden"
EXAMPLES = SOURCE / "docs" / "examples"
A4_WIDTH = 794  # CSS pixels at 96 per inch
A4_TEXT_WIDTH = 688  # between the margins of the style sheet
REFUSED = {"en": "Not accepted", "zh": "不通过"}


class Page:
    def __init__(self, folder, lang, verdict, pages):
        self.path = folder / f"report.{lang}.html"
        self.lang, self.verdict, self.most_pages = lang, verdict[lang], pages

    def __str__(self):
        return f"{self.path.parent.name}.{self.lang}"


PAGES = [Page(folder, lang, verdict, pages)
         for folder, verdict, pages in [(GOLDEN, REFUSED, 15), (EXAMPLES / "h20-32-nodes", REFUSED, 40)]
         for lang in ("en", "zh")]


@pytest.fixture(scope="module")
def browser():
    with Browser(deadline=200) as one:
        yield one


@pytest.fixture(params=PAGES, ids=str)
def page(request):
    return request.param


def test_opens_without_error_and_fetches_nothing(browser, page):
    events = browser.open(page.path)
    assert browser.evaluate("document.documentElement.lang").startswith(page.lang)
    requests = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    assert requests == [f"file://{page.path}"]
    complaints = [
        e
        for e in events
        if e["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    ]
    assert complaints == []


def test_has_no_script_and_nothing_to_fetch(page):
    text = page.path.read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img|iframe|object|embed)\b|@import|url\(", text)
    assert not re.search(r"\b(src|href|srcset|data)=", text)


@pytest.mark.parametrize("width", [1280, A4_WIDTH, 360])
def test_is_not_wider_than_the_window(browser, page, width):
    browser.open(page.path, width=width)
    assert browser.evaluate("window.innerWidth") == width
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width, media", [(1280, "screen"), (A4_TEXT_WIDTH, "print")])
def test_no_table_needs_scrolling(browser, page, width, media):
    browser.open(page.path, width=width, media=media)
    too_wide = browser.evaluate(
        "[...document.querySelectorAll('.wide')].filter(e => e.querySelector('table').offsetWidth > e.clientWidth + 1)"
        ".map(e => e.querySelector('caption').textContent)"
    )
    assert too_wide == []


def test_no_sentence_stands_in_a_column_of_single_letters(browser, page):
    browser.open(page.path, width=360)
    narrow = browser.evaluate(
        "[...document.querySelectorAll('td')].filter(e => !e.classList.contains('n') && e.textContent.trim().length > 20 && e.clientWidth < 100)"
        ".map(e => e.textContent)"
    )
    assert narrow == []


def test_the_verdict_is_in_sight_before_any_scrolling(browser, page):
    browser.open(page.path)
    bottom = browser.evaluate("document.querySelector('.counts').getBoundingClientRect().bottom")
    assert 0 < bottom < 700
    assert page.verdict in browser.evaluate("document.querySelector('.verdict').textContent")


def test_tables_and_charts_can_be_read_aloud(browser, page):
    browser.open(page.path)
    assert browser.evaluate("document.querySelectorAll('table').length") > 5
    assert browser.evaluate("document.querySelectorAll('table:not(:has(> caption))').length") == 0
    assert browser.evaluate("document.querySelectorAll('th:not([scope])').length") == 0
    assert browser.evaluate("document.querySelectorAll('svg').length") > 5
    assert browser.evaluate(
        "[...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-labelledby')"
        ".split(' ').every(id => document.querySelectorAll('#' + id).length == 1))"
    )


def test_landmarks_headings_and_labels(browser, page):
    """What axe-core calls landmark-one-main, page-has-heading-one, heading-order, region, svg-img-alt, duplicate-id, empty-table-header."""
    browser.open(page.path)
    evaluate = browser.evaluate
    assert evaluate("document.querySelectorAll('main').length") == 1
    assert evaluate("document.querySelectorAll('h1').length") == 1
    levels = evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.localName[1])")
    assert levels[0] == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels
    assert evaluate("[...document.querySelectorAll('h1,h2,h3')].every(h => h.textContent.trim())")
    assert evaluate("[...document.body.children].every(e => ['main', 'header', 'footer'].includes(e.localName))")
    assert evaluate("[...document.querySelectorAll('section')].every(s => s.querySelector('h2'))")
    assert evaluate("[...document.querySelectorAll('svg')].every(s => s.getAttribute('role') == 'img'"
                    " && s.querySelector('title').textContent && s.querySelector('desc').textContent)")
    assert evaluate("[...document.querySelectorAll('thead th')].every(h => h.textContent.trim())")
    ids = evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert evaluate("document.title.length") > 0


def luminance(colour):
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_contrast_of_at_least_4_5(browser, page):
    """WCAG 2.1, 1.4.3, for every text in the page against the nearest background."""
    browser.open(page.path)
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


def test_prints_on_a4_with_the_conclusion_on_page_1(browser, page, tmp_path):
    browser.open(page.path)
    pdf = tmp_path / "report.pdf"
    pdf.write_bytes(browser.pdf())
    info = subprocess.run(["pdfinfo", pdf], capture_output=True, text=True, check=True).stdout
    pages = int(re.search(r"Pages:\s+(\d+)", info)[1])
    assert 1 < pages < page.most_pages
    assert re.search(r"Page size:\s+59[45]\S* x 84[12]", info)

    def text(number):
        command = ["pdftotext", "-f", str(number), "-l", str(number), "-layout", pdf, "-"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert page.verdict in text(1)
    assert re.search(rf"\b{pages}\s*/\s*{pages}\b", text(pages))
