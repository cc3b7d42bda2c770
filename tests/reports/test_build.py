import re


def text(result):
    return result.html.read_text("utf-8")


def test_sound_notebook_is_built_with_its_summary_and_how_it_was_made(results):
    result = results["sound"]
    assert result.ok, result.error
    assert result.error is None
    assert result.title == "What is asked?"
    assert result.finding == "Half are right."
    assert result.cards == [{"label": "Exact", "value": "0.500", "note": "n = 3"}]
    assert result.html.stat().st_size > 4_000_000
    page = text(result).split("How this was made")[1].split("<script>")[0]
    assert all(name in page for name in ("title", "polars", "duration"))
    # The policy comes first, and admits only hashes.
    head = text(result)[:900]
    assert head.index("Content-Security-Policy") < head.index("<title>")
    policy = head.split('content="')[1].split('"')[0]
    assert re.fullmatch("default-src 'none'.* script-src( 'sha256-[^']+'){2}", policy)


def test_failing_notebook_leaves_a_readable_partial_report(results):
    result = results["failing"]
    page = text(result)
    assert not result.ok
    assert result.error == "ZeroDivisionError: division by zero"
    assert page.index("This report is not complete") < page.index('<pre class="fl-stdout">before')
    assert '<pre class="fl-stdout">after' not in page
    assert "\x1b" not in page
    # No library is in a page that needs none.
    assert "Plotly" not in page.split("<script>")[0]
    assert result.html.stat().st_size < 300_000
