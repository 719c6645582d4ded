// node drive_viewer.mjs CHROMIUM URL FOLDER: uses the viewer as a person does and fails with a sentence where the page
// does not follow. Screenshots go to FOLDER. A line "stop" or "start" on stdout asks for that to be done to the viewer.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser, Page } from "../../../../support/chromium.mjs";

const [program, url, folder] = process.argv.slice(2);
const WIDTH = 1100;
const HEIGHT = 720;
const CENTER = [WIDTH / 2, HEIGHT / 2];

const browser = new Browser(program);
const requests = []; // cameras that the page asked for
let scene;
browser.on("Network.webSocketFrameSent", ({ response }) => requests.push(JSON.parse(response.payloadData)));
browser.on("Network.webSocketFrameReceived", ({ response }) => {
  if (response.opcode === 1 && response.payloadData.includes('"scene"')) scene = JSON.parse(response.payloadData);
});
const page = await Page.open(browser, url, { width: WIDTH, height: HEIGHT, scale: 1.5 });

const column = (camera, j) => [0, 1, 2].map((i) => camera.camera_to_world[i][j]);
const distance = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));
const samePose = (camera, wanted, what) =>
  camera.camera_to_world.flat().forEach((value, i) => {
    assert.ok(Math.abs(value - wanted.camera_to_world.flat()[i]) < 1e-12, what);
  });
const last = () => requests[requests.length - 1];
const picture = () => page.evaluate(`document.getElementById("picture").toDataURL()`);
const frustaPixels = () =>
  page.evaluate(`(() => {
    const { width, height } = document.getElementById("overlay");
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(document.getElementById("overlay"), 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) count += data[i] > 0;
    return count;
  })()`);

/** The full frame of the camera that was asked for last is on the screen. */
async function settled(what) {
  await page.until(`the full frame after ${what}`, `(() => {
    const canvas = document.getElementById("picture");
    return canvas.dataset.kind === "full" && Number(canvas.dataset.id) >= ${last()?.id ?? 1} && canvas.dataset.id;
  })()`);
  // A request that was sent meanwhile replaces it.
  const shown = Number(await page.evaluate(`document.getElementById("picture").dataset.id`));
  if (shown < last().id) await settled(what);
}

async function changes(what, action) {
  const before = { picture: await picture(), camera: last(), count: requests.length };
  await action();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await settled(what);
  assert.notEqual(await picture(), before.picture, `the picture is the same after ${what}`);
  return { before: before.camera, after: last(), between: requests.slice(before.count) };
}

async function main() {
  await page.until("the first frame", `document.getElementById("picture").dataset.kind === "full"`);
  assert.equal(await page.evaluate(`document.getElementById("name").textContent`), scene.name);
  assert.equal(await page.evaluate(`document.getElementById("status-word").textContent`), "Ready");
  samePose(last(), scene.cameras[0], "it starts at the first camera");
  assert.equal(Math.max(last().width, last().height), scene.full_side);
  assert.match(await page.evaluate(`document.getElementById("time").textContent`), /^[0-9.]+$/);
  assert.equal(await page.evaluate(`document.getElementById("size").textContent`), `${last().width} × ${last().height}`);
  writeFileSync(join(folder, "first.png"), await page.screenshot());

  // The cameras look at the origin and stand on a ring around the z axis.
  const drag = await changes("a drag", () => page.drag(CENTER, [CENTER[0] + 150, CENTER[1] + 30]));
  const [from, to] = [column(drag.before, 3), column(drag.after, 3)];
  assert.ok(Math.abs(Math.hypot(...from) - Math.hypot(...to)) < 1e-6, "an orbit keeps its distance");
  assert.ok(distance(from, to) > 0.3, "the drag moves the camera");
  const rightward = column(drag.before, 0).reduce((sum, value, i) => sum + value * (to[i] - from[i]), 0);
  assert.ok(rightward < 0, "the scene follows the pointer: the camera goes to the left");
  assert.ok(to[2] > from[2], "a drag downwards lifts the camera");
  assert.ok(drag.between.length > 1, "frames are asked for during the drag");
  assert.ok(drag.between[0].width < drag.after.width, "moving frames of a slow scene are smaller");
  assert.equal(Math.max(drag.after.width, drag.after.height), scene.full_side, "the frame is full when nothing moves");

  assert.ok((await frustaPixels()) > 1000, "frusta are drawn");
  await page.key("f");
  await page.until("frusta hidden by F", `document.getElementById("frusta").ariaPressed === "false"`);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(await frustaPixels(), 0, "F hides the frusta");
  await page.key("f");
  await page.until("frusta shown by F", `document.getElementById("frusta").ariaPressed === "true"`);

  const scroll = await changes("scrolling", () => page.mouse("mouseWheel", ...CENTER, { deltaX: 0, deltaY: -240 }));
  assert.ok(Math.hypot(...column(scroll.after, 3)) < 0.9 * Math.hypot(...column(scroll.before, 3)), "scrolling moves closer");

  for (const options of [{ button: "right" }, { modifiers: 8 }]) {
    const pan = await changes("panning", () => page.drag(CENTER, [CENTER[0] - 60, CENTER[1]], options));
    assert.deepEqual(column(pan.after, 2), column(pan.before, 2), "panning does not turn");
    const step = column(pan.after, 3).map((value, i) => value - column(pan.before, 3)[i]);
    const along = column(pan.before, 0).reduce((sum, value, i) => sum + value * step[i], 0);
    assert.ok(along > 0 && Math.abs(along - Math.hypot(...step)) < 1e-9, "panning to the left moves to the right");
  }

  const walk = await changes("W", () => page.key("w", 200));
  const ahead = column(walk.after, 3).map((value, i) => value - column(walk.before, 3)[i]);
  assert.ok(column(walk.before, 2).reduce((sum, value, i) => sum + value * ahead[i], 0) > 0, "W walks forward");
  await changes("an arrow key", () => page.key("ArrowLeft", 200));

  await changes("two fingers", async () => {
    await page.touch("touchStart", [[400, 300], [600, 300]]);
    for (let i = 1; i <= 5; ++i) await page.touch("touchMove", [[400 - 15 * i, 300], [600 + 15 * i, 300]]);
    await page.touch("touchEnd", []);
  });

  await changes("R", () => page.key("r"));
  samePose(last(), scene.cameras[0], "R goes back");

  // Away from the ring every camera is in sight; the pointer finds one, a click goes there.
  await changes("scrolling away", async () => {
    for (let i = 0; i < 3; ++i) await page.mouse("mouseWheel", ...CENTER, { deltaX: 0, deltaY: 300 });
  });
  const found = await page.evaluate(`(() => {
    for (let y = 60; y < ${HEIGHT - 80}; y += 12) {
      for (let x = 80; x < ${WIDTH - 60}; x += 12) {
        document.getElementById("stage").dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }));
        const tip = document.getElementById("tip");
        const index = Number(/Input view (\\d+)/.exec(tip.hidden ? "" : tip.textContent)?.[1] ?? 0) - 1;
        if (index > 0) return { x, y, index };
      }
    }
  })()`);
  assert.ok(found, "the pointer finds a camera");
  await page.mouse("mouseMoved", found.x, found.y);
  writeFileSync(join(folder, "cameras.png"), await page.screenshot());
  await changes("a click on a camera", () => page.click(found.x, found.y));
  samePose(last(), scene.cameras[found.index], "the click goes to that camera");
  assert.equal(await page.evaluate(`document.getElementById("tip").hidden`), true);

  await page.evaluate(`(() => {
    const select = document.getElementById("side");
    select.selectedIndex = 0;
    select.dispatchEvent(new Event("change"));
  })()`);
  await page.until("a smaller frame", `document.getElementById("picture").width <= ${scene.full_side / 2}`);

  await page.click(WIDTH - 40, HEIGHT - 36);
  await page.until("the help", `!document.getElementById("help").hidden`);
  writeFileSync(join(folder, "help.png"), await page.screenshot());
  await page.resize(420, 720, 2);
  await page.until("the new layout", `document.getElementById("overlay").width === 840`);
  await page.key("h");
  await page.until("no help", `document.getElementById("help").hidden`);
  writeFileSync(join(folder, "narrow.png"), await page.screenshot());

  assert.deepEqual(page.complaints, [], "the console is clean");
  assert.equal(await page.evaluate(`document.getElementById("message").hidden`), true, "no error is shown");

  await changes("a drag on a narrow screen", () => page.drag([200, 300], [260, 320]));
  const before = last();
  console.log("stop");
  await page.until("the loss", `document.getElementById("status-word").textContent === "Disconnected"`);
  assert.match(await page.evaluate(`document.getElementById("message").textContent`), /may have been stopped/);
  writeFileSync(join(folder, "lost.png"), await page.screenshot());
  console.log("start");
  await page.until("the return", `document.getElementById("status-word").textContent !== "Disconnected"`);
  await page.until("a frame", `Number(document.getElementById("picture").dataset.id) > ${before.id}`);
  samePose(last(), before, "after the viewer comes back the camera is where it was");
  assert.equal(await page.evaluate(`document.getElementById("message").hidden`), true, "the message is gone");
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
