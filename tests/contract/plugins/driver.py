"""Whoever drives the browser without formlab."""

import os

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    page = playwright.chromium.connect_over_cdp(os.environ["FORMLAB_CDP"]).contexts[0].pages[0]
    page.get_by_label("Name").fill("Ada")
    page.get_by_role("button").click()
    page.get_by_text("Thank you").wait_for()
