// node drive_chat.mjs CHROMIUM URL FOLDER: uses the chat page as a person does and fails with a sentence where the page
// does not follow. Screenshots go to FOLDER.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser, Page } from "../../../../support/chromium.mjs";

const [program, url, folder] = process.argv.slice(2);
const browser = new Browser(program);
const page = await Page.open(browser, url, { width: 1180, height: 760, scale: 1.5 });

const text = (id) => page.evaluate(`document.getElementById(${JSON.stringify(id)}).textContent`);
const last = (role) =>
  page.evaluate(`(() => {
    const all = document.querySelectorAll("article.${role}");
    const copy = all[all.length - 1]?.cloneNode(true);
    copy?.querySelector("small")?.remove();
    return copy?.textContent ?? "";
  })()`);
const set = (id, value) => page.evaluate(`document.getElementById("${id}").value = ${JSON.stringify(value)}`);
const click = (id) => page.evaluate(`document.getElementById("${id}").click()`);
const ready = (what) => page.until(what, `document.getElementById("status").dataset.status === "ready"`);
const shot = async (name) => writeFileSync(join(folder, name), await page.screenshot());

async function send(message) {
  await set("input", message);
  await click("send");
  await ready(`the answer to ${message}`);
}

async function main() {
  await ready("the page is connected");
  assert.equal(await text("model"), "tiny");
  await set("max-tokens", "40");
  await set("seed", "7");
  await send("Who keeps the key?");
  const first = await last("assistant");
  assert.notEqual(first, "", "there is an answer");
  assert.equal(await last("user"), "Who keeps the key?");
  assert.match(await text("tokens"), /^[1-9]/, "tokens are counted");
  assert.match(await text("state"), /[0-9] (KB|MB)/, "the state has a size");
  assert.match(await text("writing-speed"), /tokens\/s/);

  await click("again");
  await ready("the answer again");
  assert.equal(await last("assistant"), first, "the same seed writes the same again");
  assert.equal(await page.evaluate(`document.querySelectorAll("article").length`), 2);
  await set("seed", "8");
  await click("again");
  await ready("another answer");
  assert.notEqual(await last("assistant"), first, "another seed writes another text");
  await shot("chat.png");

  // A text becomes a memory, and the conversation continues from it.
  await page.evaluate(`(() => {
    const files = new DataTransfer();
    files.items.add(new File(["The green key lies in the tower. ".repeat(40)], "tower notes.txt", { type: "text/plain" }));
    document.getElementById("file").files = files.files;
    document.getElementById("file").dispatchEvent(new Event("change"));
  })()`);
  await page.until("the memory is chosen", `document.getElementById("memory").value === "tower-notes"`);
  assert.equal(await text("tokens"), "1,320");
  await send("And where?");
  assert.ok(Number((await text("cached")).replace(",", "")) >= 1320, "the memory is not read again");
  await shot("memory.png");

  // A long text is stopped.
  await click("mode-text");
  await set("max-tokens", "100000");
  await set("temperature", "0"); // this model then never ends a text
  await set("input", "Once upon a time");
  await click("send");
  await page.until("the text grows", `document.querySelector("article.assistant")?.textContent.length > 5`);
  assert.equal(await text("send"), "Stop");
  await click("send");
  await ready("stopped");
  const stopped = await last("assistant");
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(await last("assistant"), stopped, "nothing is added after the stop");
  await shot("continue.png");

  await page.evaluate(`document.getElementById("forget").click()`);
  await page.until("the memory is gone", `document.getElementById("memory").options.length === 1`);

  // A phone in the dark.
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await page.resize(390, 780, 2);
  await click("mode-chat");
  await set("max-tokens", "40");
  await send("Hello");
  await shot("phone.png");
  await click("panel-button");
  await shot("phone_panel.png");
  const wide = await page.evaluate(`document.documentElement.scrollWidth`);
  assert.ok(wide <= 390, `the page is ${wide} pixels wide on a phone of 390`);

  await page.evaluate(`document.getElementById("max-tokens").value = "-5"`);
  await click("panel-button");
  await set("input", "A mistake");
  await click("send");
  await page.until("the mistake is said", `/max_tokens is -5/.test(document.getElementById("message").textContent)`);
  const complaints = page.complaints.filter((words) => !words.includes("400 (Bad Request)"));
  assert.deepEqual(complaints, [], "the browser complains");
}

main()
  .then(() => browser.close())
  .catch(async (error) => {
    console.error(error.message);
    await shot("failed.png").catch(() => {});
    await browser.close();
    process.exit(1);
  });
