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
        return self.wait(browser, lambda: self.all(browser, "#reranked > li"))

    def wait(self, browser, condition, seconds=30):
        return WebDriverWait(browser, seconds, 0.05).until(lambda _: condition())

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
        self.assertEqual([card.find_element(By.CLASS_NAME, "id").text for card in cards],
                         [hit["id"] for hit in answer["hits"]])
        first = answer["hits"][0]
        self.assertIn(f"model {first['logit']:.3f}", cards[0].text)
        self.assertIn(f"BM25 {first['first_stage_score']:.3f}, rank {first['first_stage_rank']}", cards[0].text)
        before = sorted(answer["hits"], key=lambda hit: hit["first_stage_rank"])
        self.assertEqual([one.text for one in self.all(browser, "#first-stage .id")], [hit["id"] for hit in before])
        self.assertEqual(len(self.all(browser, "#moves path")), len(before))
        self.assertTrue(self.all(browser, "#bars > div"))
        self.assertIn("in all", browser.find_element(By.ID, "legend").text)
        self.assertIn("q=", browser.current_url)
        self.picture(browser, "page")
        browser.refresh()  # the address asks again
        self.wait(browser, lambda: len(self.all(browser, "#reranked > li")) == len(cards))
        self.no_complaints(browser)

    def test_the_keyboard(self):
        browser = self.browser(self.server())
        self.ask(browser, queries()[1])
        self.press(browser, Keys.ESCAPE)
        self.assertEqual(browser.find_element(By.ID, "query").get_property("value"), queries()[1])
        self.press(browser, "j")
        self.assertEqual(browser.switch_to.active_element.get_attribute("data-rank"), "1")
        self.press(browser, "j")
        self.assertEqual(browser.switch_to.active_element.get_attribute("data-rank"), "2")
        self.press(browser, "k")
        self.press(browser, "e")
        self.wait(browser, lambda: self.all(browser, "#reranked > li:first-child details ul li"))
        self.picture(browser, "page-explained")
        self.press(browser, "/")
        self.assertEqual(browser.switch_to.active_element.get_attribute("id"), "query")
        self.no_complaints(browser)

    def test_the_passage_that_answered_is_marked(self):
        server = self.server(documents=[("long", LONG), ("short", "An egg is a bird's.")],
                             profile='[rescorer]\nlong_documents = "maxp"\nchunk = 64\nstride = 64\n')
        browser = self.browser(server)
        self.ask(browser, "how to boil an egg")
        marks = self.all(browser, "mark")
        self.assertEqual(len(marks), 1)
        self.assertIn("seven minutes", marks[0].text)
        self.assertNotEqual(marks[0].text, LONG)
        self.no_complaints(browser)

    def test_a_phone_and_the_dark(self):
        server = self.server()
        phone = self.browser(server, width=390)
        self.ask(phone, queries()[0])
        self.assertLessEqual(phone.execute_script("return document.documentElement.scrollWidth"), 390)
        self.assertFalse(phone.find_element(By.ID, "before").is_displayed())
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

    def test_no_hits_and_no_words(self):
        browser = self.browser(self.server())
        box = browser.find_element(By.ID, "query")
        box.send_keys("the of", Keys.ENTER)
        self.wait(browser, lambda: "stop words" in browser.find_element(By.ID, "status").text)
        self.assertFalse(browser.find_element(By.ID, "results").is_displayed())


if __name__ == "__main__":
    run_tests()
