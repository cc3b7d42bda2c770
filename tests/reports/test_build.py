def text(result):
    return result.html.read_text("utf-8")


def test_sound_notebook_is_built_with_its_summary_and_how_it_was_made(results):
    result = results["sound"]
    assert result.ok, result.error
    assert result.error is None
    assert result.summary.title == "What is asked?"
    assert result.summary.finding == "Half are right."
    assert result.summary.cards == [{"label": "Exact", "value": "0.500", "note": "n = 3"}]
    assert result.html.stat().st_size > 4_000_000
    page = text(result).split("How this was made")[1].split("<script>")[0]
    assert all(name in page for name in ("title", "polars", "duration"))


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


def test_policy_admits_only_hashes_and_comes_first(results):
    head = text(results["sound"])[:900]
    places = [head.index(p) for p in ("<meta charset", "Content-Security-Policy", "<title>")]
    assert places == sorted(places)
    policy = head.split('content="')[1].split('"')[0]
    assert policy.startswith("default-src 'none'")
    scripts = policy.split("script-src ")[1].split()
    assert len(scripts) == 2
    assert all(source.startswith("'sha256-") for source in scripts)
