// A headless Chromium, driven by its DevTools protocol over a pipe; needs Node alone.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
  "--remote-debugging-pipe",
];

export class Browser {
  #folder = mkdtempSync(join(tmpdir(), "lact-browser-"));
  #process;
  #waiting = new Map();
  #listeners = [];
  #lastId = 0;
  #rest = Buffer.alloc(0);

  constructor(program) {
    this.#process = spawn(program, [...FLAGS, `--user-data-dir=${this.#folder}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    this.#process.stdio[4].on("data", (bytes) => this.#receive(bytes));
    this.#process.on("exit", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the browser ended"));
    });
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#lastId;
    this.#process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, method }));
  }

  on(method, listener) {
    this.#listeners.push({ method, listener });
  }

  async close() {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  #receive(bytes) {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (let end; (end = this.#rest.indexOf(0)) >= 0; this.#rest = this.#rest.subarray(end + 1)) {
      const message = JSON.parse(this.#rest.subarray(0, end).toString("utf8"));
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (waiting && message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
      else if (waiting) waiting.resolve(message.result);
      for (const { method, listener } of this.#listeners) {
        if (method === message.method) listener(message.params);
      }
    }
  }
}

/** A page with what a person does to it. */
export class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
    this.complaints = []; // console errors, exceptions, failed loads
    browser.on("Runtime.consoleAPICalled", ({ type, args }) => {
      if (type === "error" || type === "warning" || type === "assert") {
        this.complaints.push(args.map((argument) => argument.value ?? argument.description).join(" "));
      }
    });
    browser.on("Runtime.exceptionThrown", ({ exceptionDetails }) => {
      this.complaints.push(exceptionDetails.exception?.description ?? exceptionDetails.text);
    });
    browser.on("Log.entryAdded", ({ entry }) => {
      if (entry.level === "error" || entry.level === "warning") this.complaints.push(entry.text);
    });
  }

  static async open(browser, url, { width, height, scale }) {
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(browser, sessionId);
    for (const domain of ["Runtime", "Log", "Page", "Network"]) await page.send(`${domain}.enable`);
    await page.resize(width, height, scale);
    const loaded = new Promise((resolve) => browser.on("Page.loadEventFired", resolve));
    await page.send("Page.navigate", { url });
    await loaded;
    return page;
  }

  send(method, params = {}) {
    return this.browser.send(method, params, this.session);
  }

  resize(width, height, scale = 1) {
    return this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false });
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression, awaitPromise: true, returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(what, expression, seconds = 60) {
    for (const end = Date.now() + 1000 * seconds; Date.now() < end; ) {
      if (await this.evaluate(expression)) return;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    throw new Error(`waited ${seconds} s in vain: ${what}`);
  }

  mouse(type, x, y, extra = {}) {
    return this.send("Input.dispatchMouseEvent", { type, x, y, ...extra });
  }

  async drag(from, to, { button = "left", modifiers = 0, steps = 8 } = {}) {
    const buttons = button === "right" ? 2 : 1;
    await this.mouse("mousePressed", ...from, { button, buttons, modifiers, clickCount: 1 });
    for (let i = 1; i <= steps; ++i) {
      const at = from.map((start, axis) => start + ((to[axis] - start) * i) / steps);
      await this.mouse("mouseMoved", ...at, { button, buttons, modifiers });
    }
    await this.mouse("mouseReleased", ...to, { button, modifiers, clickCount: 1 });
  }

  async click(x, y) {
    await this.mouse("mouseMoved", x, y);
    await this.mouse("mousePressed", x, y, { button: "left", buttons: 1, clickCount: 1 });
    await this.mouse("mouseReleased", x, y, { button: "left", clickCount: 1 });
  }

  async key(key, milliseconds = 0) {
    const words = { key, code: key.length === 1 ? `Key${key.toUpperCase()}` : key };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...words });
    if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...words });
  }

  async touch(type, points) {
    await this.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  }

  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }
}
