// node drive_report.mjs CHROMIUM REPORT.HTML FOLDER [--every-line]: opens a page of lact reproduce and fails with a sentence where
// it does not show what it holds. Screenshots go to FOLDER. Works for the page of any report; with --every-line no line may hide
// another, and the first chart has a point in its middle.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, Page } from "../../support/chromium.mjs";

const [program, file, folder, option] = process.argv.slice(2);
const everyLine = option === "--every-line";
const WIDTH = 1200;
const data = /<script type="application\/json" id="report">(.*?)<\/script>/s.exec(readFileSync(file, "utf8"))[1];
const report = JSON.parse(data);
const sections = report.sections;

const browser = new Browser(program);
const requests = [];
browser.on("Network.requestWillBeSent", ({ request }) => requests.push(request.url));
const page = await Page.open(browser, pathToFileURL(resolve(file)).href, { width: WIDTH, height: 900, scale: 1 });

const count = (selector) => page.evaluate(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
const texts = (selector) =>
  page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => element.textContent)`);
const total = (name) => sections.reduce((sum, section) => sum + (section[name]?.length ?? 0), 0);

/** For each chart the colours of its legend, each with the number of pixels of that colour in its drawing. */
const drawnColours = () =>
  page.evaluate(`[...document.querySelectorAll(".chart")].map((chart) => {
    const canvas = chart.querySelector("canvas");
    if (!canvas) return null;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    return [...chart.querySelectorAll(".legend .sample path:last-child")].map((path) => {
      const [r, g, b] = getComputedStyle(path).fill.match(/\\d+/g).map(Number);
      let pixels = 0;
      for (let i = 0; i < data.length; i += 4) {
        pixels += data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255;
      }
      return pixels;
    });
  })`);

const drawn = (chart, x, y) => Number.isFinite(x) && Number.isFinite(y) && (!chart.log_x || x > 0);

async function everyChartIsDrawn(when) {
  const pixels = await drawnColours();
  sections.flatMap((section) => section.charts ?? []).forEach((chart, i) => {
    const points = (chart.lines ?? []).map((line) => line.x.filter((x, k) => drawn(chart, x, line.y[k])).length);
    if (points.every((number) => number === 0)) {
      assert.equal(pixels[i], null, `${when}, chart ${i + 1}: nothing to draw`);
      return;
    }
    assert.ok(pixels[i], `${when}, chart ${i + 1} (${chart.title}) has no drawing`);
    assert.ok(pixels[i].some((number) => number > 12), `${when}, chart ${i + 1} (${chart.title}) has no points`);
    points.forEach((number, k) => {
      if (everyLine && number > 0) assert.ok(pixels[i][k] > 12, `${when}, chart ${i + 1} (${chart.title}): no point of ${chart.lines[k].name}`);
    });
  });
}

/** All of the page. */
async function screenshot(name) {
  const [width, height] = await page.evaluate("[innerWidth, document.documentElement.scrollHeight]");
  const { data: bytes } = await page.send("Page.captureScreenshot", {
    format: "png", captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 },
  });
  writeFileSync(join(folder, `${name}.png`), Buffer.from(bytes, "base64"));
}

/** The middle of an element on the screen. */
const middle = (expression) =>
  page.evaluate(`(() => {
    const element = ${expression};
    element.scrollIntoView({ block: "center" });
    const box = element.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  })()`);

async function textsAndBadges() {
  assert.equal(await page.evaluate("document.title"), report.title);
  assert.deepEqual(await texts("h1"), [report.title]);
  assert.deepEqual(await texts("section > header h2"), sections.map(({ title }) => title));
  assert.deepEqual(await texts(".verdicts .badge"), sections.map(({ verdict }) => verdict));
  assert.deepEqual(await texts("section > header .badge"), sections.map(({ verdict }) => verdict));
  const findings = sections.flatMap((section) => section.findings ?? []);
  assert.deepEqual(await texts(".finding .badge"), findings.map(({ verdict }) => verdict));
  assert.deepEqual(await texts(".finding .statement"), findings.map(({ statement }) => statement));
  assert.deepEqual(await texts(".paper li"), sections.flatMap(({ paper }) => paper ?? []));
  assert.deepEqual(await texts(".notes li"), sections.flatMap(({ notes }) => notes ?? []));
  assert.deepEqual(await texts(".table td"), sections.flatMap(({ tables }) => tables ?? []).flatMap(({ rows }) => rows.flat()));
  assert.equal(await count(".chart"), total("charts"));
  assert.equal(await count(".commands"), sections.filter(({ commands }) => commands?.length).length);
  const links = await page.evaluate(`[...document.querySelectorAll("a")].every((a) => document.querySelector(a.hash))`);
  assert.ok(links, "every link leads somewhere on the page");
  assert.equal(await page.evaluate("window.broken"), undefined, "text of the report was executed");
  assert.equal(await count("section img"), total("pictures"));
  assert.ok(await page.evaluate(`[...document.images].every((image) => image.naturalWidth > 0)`), "every picture is shown");
}

const twoFrames = () =>
  page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");

/** Values appear under the pointer, and a click on a name hides its line. */
async function chartsAnswer() {
  const first = await page.evaluate(`[...document.querySelectorAll(".chart")].findIndex((chart) => chart.querySelector("canvas"))`);
  if (first < 0) return;
  const chart = `document.querySelectorAll(".chart")[${first}]`;
  await page.mouse("mouseMoved", ...(await middle(`${chart}.querySelector(".u-over")`)));
  const place = await page.evaluate(`${chart}.querySelector(".place").textContent`);
  assert.match(place, /^at [0-9.,e+−]+$/, "the place under the pointer is shown");
  const values = await page.evaluate(`[...${chart}.querySelectorAll(".legend .value")].map((value) => value.textContent)`);
  if (everyLine) assert.ok(values.some((value) => /^[0-9.,−]+( ± [0-9.,]+)?$/.test(value)), `values are shown: ${values}`);
  writeFileSync(join(folder, "hover.png"), await page.screenshot());
  await page.mouse("mouseMoved", 2, 2);

  const before = (await drawnColours())[first];
  const name = `${chart}.querySelector(".legend button")`;
  await page.click(...(await middle(name)));
  assert.equal(await page.evaluate(`${name}.ariaPressed`), "false");
  await twoFrames();
  const hidden = (await drawnColours())[first];
  if (everyLine) assert.ok(before[0] > 0 && hidden[0] === 0, "a click on a name hides its line");
  await page.click(...(await middle(name)));
  await twoFrames();
  assert.equal(await page.evaluate(`${name}.ariaPressed`), "true");
  assert.deepEqual((await drawnColours())[first], before, "another click shows it again");
  await page.mouse("mouseMoved", 2, 2);
  await page.evaluate("scrollTo(0, 0)");
}

async function main() {
  await textsAndBadges();
  await everyChartIsDrawn("light");
  await screenshot("light");
  await chartsAnswer();

  const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
  const light = await background();
  await page.click(...(await middle(`document.querySelector(".theme")`)));
  assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
  assert.notEqual(await background(), light, "the button makes the page dark");
  await everyChartIsDrawn("dark");
  await screenshot("dark");

  await page.resize(390, 844, 2);
  await page.until("narrow charts", `[...document.querySelectorAll("canvas")].every((canvas) => canvas.clientWidth < 390)`);
  assert.ok((await page.evaluate("document.documentElement.scrollWidth")) <= 390, "a phone needs no scrolling to the side");
  await everyChartIsDrawn("390 pixels wide");
  await page.evaluate("scrollTo(0, 0)");
  await screenshot("phone");

  await page.resize(WIDTH, 900, 1);
  const { data: pdf } = await page.send("Page.printToPDF", { preferCSSPageSize: false });
  writeFileSync(join(folder, "print.pdf"), Buffer.from(pdf, "base64"));
  await page.until("the screen's colours are back", `document.documentElement.dataset.theme === "dark"`);
  await page.send("Emulation.setEmulatedMedia", { media: "print" });
  await page.until("paper's colours", `document.documentElement.dataset.theme === "light"`);
  assert.equal(await page.evaluate(`getComputedStyle(document.querySelector(".theme")).display`), "none");
  await everyChartIsDrawn("printed");
  await page.resize(680, 960, 1); // the width of A4 between its margins
  await twoFrames();
  await screenshot("print");
  await page.send("Emulation.setEmulatedMedia", { media: "" });

  // The system's scheme counts where nobody has chosen.
  await page.evaluate("localStorage.clear()");
  for (const value of ["dark", "light"]) {
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
    const loaded = new Promise((done) => browser.on("Page.loadEventFired", done));
    await page.send("Page.reload");
    await loaded;
    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), value);
  }

  assert.deepEqual(page.complaints, [], "the console is clean");
  assert.deepEqual(requests.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), [], "nothing is loaded");
}

let failure;
try {
  await main();
} catch (error) {
  failure = error;
  console.error(error.message);
  for (const complaint of page.complaints) console.error(`console: ${complaint}`);
}
await browser.close();
process.exitCode = failure ? 1 : 0;
