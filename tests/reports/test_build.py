def test_failing_notebook_leaves_a_readable_partial_report(results):
    result = results["failing"]
    page = result.html.read_text("utf-8")
    assert not result.ok
    assert result.error == "ZeroDivisionError: division by zero"
    assert page.index("This report is not complete") < page.index('<pre class="fl-stdout">before')
    assert '<pre class="fl-stdout">after' not in page
    assert "\x1b" not in page
    # No library is in a page that needs none.
    assert "Plotly" not in page.split("<script>")[0]
    assert result.html.stat().st_size < 300_000
