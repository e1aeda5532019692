"""The server's page in headless Chromium: skipped without chromedriver and selenium (Debian: chromium-driver,
python3-selenium). With a folder in $RELUCENT_SCREENSHOTS it also leaves pictures there."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

from serve_support import DEVICE, Server, build_index, program_path, queries, run_tests

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None

TOKEN = "a-token-of-this-test"
ANSWER = "To boil an egg, put it in boiling water for seven minutes."
LONG = " ".join(["Bread keeps fresh in a paper bag."] * 120 + [ANSWER])


@unittest.skipUnless(webdriver, "selenium is not installed")
@unittest.skipUnless(shutil.which("chromedriver"), "chromedriver is not installed")
class Page(unittest.TestCase):
    def setUp(self):
        self.scratch = self.enterContext(tempfile.TemporaryDirectory(prefix="relucent-page-"))

    def server(self, *flags, documents=None, **more):
        index = build_index(program_path(), Path(self.scratch) / "index", documents)
        server = Server(program_path(), "--index", index, *DEVICE, *flags, **more)
        self.addCleanup(server.__exit__)
        return server

    def browser(self, server, path="", width=1280, dark=False):
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.addCleanup(browser.quit)
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        browser.get(f"http://127.0.0.1:{server.port}/{path}")
        return browser

    def ask(self, browser, query):
        box = browser.find_element(By.ID, "query")
        box.clear()
        box.send_keys(query, Keys.ENTER)
        return self.cards(browser, query)

    def cards(self, browser, query=None):
        """The cards once the model's order is there, or BM25's if that was asked for."""
        if query is not None:
            self.wait(browser, lambda: browser.title.startswith(query))
        self.wait(browser, lambda: not self.all(browser, "#status.waiting"))
        return self.all(browser, "#results:not(.pending) #reranked > li")

    def ids(self, browser, selector):
        return [one.text for one in self.all(browser, selector + " .id")]

    def wait(self, browser, condition, seconds=30):
        # The page replaces its hits when the model's order arrives.
        wait = WebDriverWait(browser, seconds, 0.05, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(lambda _: condition())

    def all(self, browser, selector):
        return browser.find_elements(By.CSS_SELECTOR, selector)

    def press(self, browser, *keys):
        browser.switch_to.active_element.send_keys(*keys)

    def picture(self, browser, name):
        if os.environ.get("RELUCENT_SCREENSHOTS"):
            browser.save_screenshot(str(Path(os.environ["RELUCENT_SCREENSHOTS"]) / f"{name}.png"))

    def no_complaints(self, browser):
        self.assertEqual(browser.get_log("browser"), [])

    def test_both_orders_with_their_scores_and_moves(self):
        server = self.server()
        browser = self.browser(server)
        query = queries()[0]
        cards = self.ask(browser, query)
        answer = server.post("/search", {"query": query, "k": 10}).json
        bm25 = server.post("/search", {"query": query, "k": 10, "rescore": False}).json
        shown = [hit["id"] for hit in answer["hits"]]
        self.assertEqual(self.ids(browser, "#reranked"), shown)
        first = answer["hits"][0]
        self.assertIn(f"model {first['logit']:.3f}", cards[0].text)
        self.assertIn(f"BM25 {first['first_stage_score']:.3f}, rank {first['first_stage_rank']}", cards[0].text)
        # BM25's own list, in which those that the model put below the hits are faint.
        left = [hit["id"] for hit in bm25["hits"]]
        self.assertEqual(self.ids(browser, "#first-stage"), left)
        self.assertEqual(self.ids(browser, "#first-stage .out"), [one for one in left if one not in shown])
        self.assertTrue(self.ids(browser, "#first-stage .out"))
        self.assertEqual(len(self.all(browser, "#moves path:not(.far)")), len(set(left) & set(shown)))
        self.assertTrue(self.all(browser, "#bars > div"))
        self.assertLess(browser.find_element(By.ID, "bars").size["height"], 6)
        self.assertFalse(browser.find_element(By.ID, "legend").is_displayed())
        browser.find_element(By.CSS_SELECTOR, "#times summary").click()
        self.assertIn("model", browser.find_element(By.ID, "legend").text)
        self.assertIn("q=", browser.current_url)
        browser.refresh()  # the address asks again
        self.wait(browser, lambda: len(self.cards(browser)) == len(cards))
        self.picture(browser, "page")
        self.no_complaints(browser)

    def test_ranks_stand_next_to_each_other_in_rows_of_one_height(self):
        browser = self.browser(self.server())
        cards = self.ask(browser, queries()[0])
        rows = self.all(browser, "#first-stage > li")
        self.assertEqual(len({card.size["height"] for card in cards}), 1)
        self.assertLess(cards[0].size["height"], 125)
        self.assertEqual([card.location["y"] for card in cards], [row.location["y"] for row in rows])
        box = browser.find_element(By.ID, "moves").rect
        for curve in self.all(browser, "#moves path"):
            self.assertGreaterEqual(curve.rect["y"], box["y"] - 1)
            self.assertLessEqual(curve.rect["y"] + curve.rect["height"], box["y"] + box["height"] + 1)

    def test_the_keyboard(self):
        browser = self.browser(self.server())
        self.ask(browser, queries()[1])  # Enter leaves the box
        rank = lambda: browser.switch_to.active_element.get_attribute("data-rank")
        self.press(browser, "j")
        self.assertEqual(rank(), "1")
        self.press(browser, "j")
        self.assertEqual(rank(), "2")
        self.press(browser, "k")
        self.press(browser, "e")
        self.wait(browser, lambda: self.all(browser, "#reranked > li:first-child .explanation li"))
        self.press(browser, "f")
        self.wait(browser, lambda: self.all(browser, "#reranked > li:first-child .whole"))
        self.picture(browser, "page-explained")
        self.press(browser, "f")
        self.assertFalse(self.all(browser, "#reranked > li:first-child .whole"))
        self.press(browser, "/")
        self.assertEqual(browser.switch_to.active_element.get_attribute("id"), "query")
        self.press(browser, "j", Keys.ESCAPE)
        self.assertEqual(browser.find_element(By.ID, "query").get_property("value"), queries()[1] + "j")
        self.no_complaints(browser)

    def test_one_hit_is_explained_and_meanwhile_the_button_reports_it(self):
        server = self.server()
        browser = self.browser(server)
        self.ask(browser, queries()[0])
        third = self.all(browser, "#reranked .explain")[2]
        browser.execute_script("window.seen = []; new MutationObserver(() => seen.push(arguments[0].textContent))"
                               ".observe(arguments[0], {childList: true}); arguments[0].click()", third)
        self.wait(browser, lambda: self.all(browser, "#reranked > li:nth-child(3) .explanation"))
        self.assertEqual(browser.execute_script("return seen"), ["Explaining…", "Explain"])
        self.assertIn("combined score", self.all(browser, ".explanation")[0].text)
        server.logged(path="/search", hits=1)

    def test_long_texts_have_three_lines_and_their_words_are_marked(self):
        server = self.server(documents=[("long", LONG), ("short", "An egg is a bird's.")],
                             profile='[rescorer]\nlong_documents = "maxp"\nchunk = 200\nstride = 200\n')
        browser = self.browser(server)
        self.ask(browser, "how to boil an egg")
        card = next(one for one in self.all(browser, "#reranked > li") if one.get_attribute("data-id") == "long")
        text = card.find_element(By.CLASS_NAME, "text")
        self.assertLess(text.size["height"], 3.5 * 23)
        self.assertIn("seven minutes", text.text)
        self.assertEqual([mark.text for mark in text.find_elements(By.TAG_NAME, "mark")], ["boil", "egg", "boiling"])
        card.find_element(By.CLASS_NAME, "full-text").click()
        whole = self.wait(browser, lambda: card.find_elements(By.CLASS_NAME, "whole"))[0]
        self.assertEqual(whole.get_property("textContent"), LONG)
        self.assertIn("seven minutes", whole.find_element(By.CLASS_NAME, "passage").text)
        self.no_complaints(browser)

    def test_the_switch_and_the_pages(self):
        server = self.server()
        browser = self.browser(server)
        query = queries()[0]
        self.ask(browser, query)
        all_hits = [hit["id"] for hit in server.post("/search", {"query": query, "k": 20}).json["hits"]]
        self.press(browser, "n")
        self.wait(browser, lambda: self.cards(browser) and self.ids(browser, "#reranked") == all_hits[10:])
        self.assertIn("11–20 of", browser.find_element(By.ID, "range").text)
        self.assertTrue(any("now " in row.text for row in self.all(browser, "#first-stage > li")))
        browser.find_element(By.ID, "rerank").click()
        bm25 = server.post("/search", {"query": query, "k": 10, "rescore": False}).json
        self.wait(browser, lambda: self.ids(browser, "#reranked") == [hit["id"] for hit in bm25["hits"]])
        self.assertFalse(browser.find_element(By.ID, "before").is_displayed())
        self.assertIn("rerank=0", browser.current_url)
        browser.back()
        self.wait(browser, lambda: self.cards(browser) and self.ids(browser, "#reranked") == all_hits[10:])
        self.no_complaints(browser)

    def test_a_phone_and_the_dark(self):
        server = self.server()
        phone = self.browser(server, width=390)
        cards = self.ask(phone, queries()[0])
        self.assertLessEqual(phone.execute_script("return document.documentElement.scrollWidth"), 390)
        self.assertFalse(phone.find_element(By.CSS_SELECTOR, "#before-title").is_displayed())
        self.assertLess(cards[0].location["y"], 200)
        self.assertGreater(phone.find_element(By.ID, "model").location["y"], cards[-1].location["y"])
        self.picture(phone, "page-phone")
        dark = self.browser(server, dark=True)
        self.ask(dark, queries()[0])
        paper = dark.execute_script("return getComputedStyle(document.body).backgroundColor")
        self.assertLess(sum(int(part) for part in paper[4:-1].split(",")), 200, paper)
        self.picture(dark, "page-dark")

    def test_markup_in_texts_and_queries_is_text(self):
        hostile = '<img src=x onerror="document.title=1"> egg <script>document.title=1</script>'
        browser = self.browser(self.server(documents=[("<b>1</b>", hostile), ("2", "egg")]))
        self.ask(browser, "egg <img src=y>")
        self.assertFalse(self.all(browser, "#results img, #results script, #results b"))
        self.assertIn("onerror", browser.find_element(By.ID, "reranked").text)
        self.no_complaints(browser)

    def test_a_token_is_asked_for(self):
        browser = self.browser(self.server(environment={"RELUCENT_TOKEN": TOKEN}))
        box = browser.find_element(By.ID, "token")
        self.wait(browser, box.is_displayed)
        box.send_keys(TOKEN, Keys.ENTER)
        self.wait(browser, lambda: browser.find_element(By.ID, "model").text)
        self.assertTrue(self.ask(browser, queries()[0]))

    def test_an_empty_page_states_what_to_do(self):
        browser = self.browser(self.server())
        empty = browser.find_element(By.ID, "empty")
        self.wait(browser, lambda: "press Enter" in empty.text)
        for query, advice in (("the of", "Add a word"), ("xyzzyqwerty", "Check the spelling")):
            self.ask(browser, query)
            self.wait(browser, lambda advice=advice: advice in empty.text)
            self.assertFalse(browser.find_element(By.ID, "results").is_displayed())

    def test_a_server_without_an_index_reports_it(self):
        server = Server(program_path(), *DEVICE)
        self.addCleanup(server.__exit__)
        browser = self.browser(server)
        self.wait(browser, lambda: "relucent serve --index" in browser.find_element(By.ID, "empty").text)
        self.assertFalse(browser.find_element(By.ID, "query").is_enabled())

    def test_a_server_that_has_gone_is_named(self):
        server = self.server()
        browser = self.browser(server)
        self.ask(browser, queries()[0])
        server.stop()
        box = browser.find_element(By.ID, "query")
        box.send_keys(" again", Keys.ENTER)
        self.wait(browser, lambda: "does not answer" in browser.find_element(By.ID, "status").text)


if __name__ == "__main__":
    run_tests()
