// The viewer: a view that the person moves, frames of it that the program renders, frusta drawn above them.
import { Connection, FrameHeader } from "./connection";
import { Controls } from "./controls";
import { Frusta, Rectangle } from "./frusta";
import { Panels, element } from "./panels";
import { Resolution } from "./resolution";
import { SceneJson, Surroundings, surroundingsOf } from "./scene";
import { View } from "./view";

const STILL_MS = 160; // after the last movement the full frame is asked for
const SLOW_MS = 150; // a frame that takes longer is worth a word
const RADIANS_PER_PIXEL = 0.006;
const TURNS_PER_SECOND = 1.4;

interface Showing {
  scene: SceneJson;
  surroundings: Surroundings;
  view: View;
  frusta: Frusta;
  resolution: Resolution;
}

class Viewer {
  private readonly panels = new Panels();
  private readonly stage = element("stage");
  private readonly picture = element<HTMLCanvasElement>("picture");
  private readonly overlay = element<HTMLCanvasElement>("overlay");
  private readonly connection: Connection;
  private readonly controls: Controls;
  private showing: Showing | undefined;
  private currentCamera = 0;
  private frame: Rectangle = { left: 0, top: 0, width: 1, height: 1 };

  private moved = false; // since the last request
  private movedAt = 0;
  private wantsFull = false;
  private lastId = 0;
  private shownId = 0;
  private askedAt = new Map<number, { full: boolean; time: number }>(); // of requests without an answer
  private stepAt = performance.now();
  private needsOverlay = true;

  constructor() {
    this.connection = new Connection({
      connected: () => this.panels.status("ready"),
      disconnected: () => this.lost(),
      scene: (scene) => this.open(scene),
      frame: (header, picture) => void this.show(header, picture),
      failed: (message) => this.failed(message),
    });
    this.controls = new Controls(this.stage, {
      orbit: (right, down) => this.turn(-right * RADIANS_PER_PIXEL, -down * RADIANS_PER_PIXEL),
      pan: (right, down) => this.pan(right, down),
      approach: (amount) => this.change(({ view }) => view.approach(amount)),
      walk: (right, up, forward) => this.walk(right, up, forward),
      turn: (right, down) => this.turn(-right * TURNS_PER_SECOND, -down * TURNS_PER_SECOND),
      hover: (x, y) => this.hover(x, y),
      click: (x, y) => this.click(x, y),
      key: (name) => this.key(name),
    });
    element("reset").onclick = () => this.jump(0);
    element("frusta").onclick = () => this.toggleFrusta();
    element("help-button").onclick = () => this.panels.toggleHelp();
    element<HTMLSelectElement>("side").onchange = (event) => this.chooseSide(event.target as HTMLSelectElement);
    new ResizeObserver(() => this.layout()).observe(this.stage);
    requestAnimationFrame((now) => this.step(now));
  }

  private open(scene: SceneJson): void {
    const before = this.showing;
    const surroundings = surroundingsOf(scene.cameras);
    // The program was started again, or the scene has read more views: stay where we are.
    const first = (other: SceneJson) => JSON.stringify([other.name, other.full_side, other.cameras[0]]);
    const same = before && first(before.scene) === first(scene);
    this.showing = {
      scene,
      surroundings,
      view: same ? before.view : new View(scene.cameras[0], surroundings),
      frusta: new Frusta(scene.cameras, surroundings.center),
      resolution: same ? before.resolution : new Resolution(scene),
    };
    if (same) this.showing.frusta.visible = before.frusta.visible;
    else this.currentCamera = 0;
    this.panels.scene(scene);
    this.panels.choices(this.showing.resolution.choices(), this.showing.resolution.fullSide);
    this.panels.clearMessage();
    this.askedAt.clear();
    this.layout();
    this.touch();
  }

  private lost(): void {
    this.panels.status("lost");
    this.askedAt.clear();
    this.panels.message("The viewer program does not answer: it may have been stopped. Trying again …", true);
  }

  private failed(message: string): void {
    this.askedAt.clear();
    this.panels.message(message, true);
  }

  /** Frames may be decoded out of order; an older one is not shown after a newer one. */
  private async show(header: FrameHeader, picture: Blob): Promise<void> {
    const asked = this.askedAt.get(header.id);
    for (const id of this.askedAt.keys()) {
      if (id <= header.id) this.askedAt.delete(id);
    }
    this.showing?.resolution.measured(header.width * header.height, header.render_ms);
    let bitmap: ImageBitmap;
    try {
      bitmap = await createImageBitmap(picture);
    } catch {
      this.panels.message("The frame that arrived cannot be decoded.");
      return;
    }
    if (header.id > this.shownId) {
      this.shownId = header.id;
      this.picture.width = header.width;
      this.picture.height = header.height;
      this.picture.getContext("2d")?.drawImage(bitmap, 0, 0);
      this.picture.dataset.id = String(header.id);
      this.picture.dataset.kind = asked?.full ? "full" : "moving";
      this.panels.frame(header, asked?.full ?? false);
      this.panels.clearMessage();
    }
    bitmap.close();
  }

  private step(now: number): void {
    const seconds = Math.min(0.1, (now - this.stepAt) / 1000);
    this.stepAt = now;
    this.controls.step(seconds);
    if (this.showing) {
      if (this.moved) {
        this.moved = false;
        this.ask(false);
      } else if (this.wantsFull && now - this.movedAt > STILL_MS && !this.controls.dragging) {
        this.wantsFull = !this.ask(true);
      }
      if (this.needsOverlay) this.drawOverlay(this.showing);
      this.showProgress();
    }
    requestAnimationFrame((next) => this.step(next));
  }

  private ask(full: boolean): boolean {
    const { view, resolution } = this.showing!;
    const { width, height } = resolution.size(view.lens.aspect, !full);
    const id = this.lastId + 1;
    if (!this.connection.request(id, view.camera(width, height))) return false;
    this.lastId = id;
    this.askedAt.set(id, { full, time: performance.now() });
    return true;
  }

  private showProgress(): void {
    const [oldest] = this.askedAt.values();
    if (element("status").dataset.status === "lost") return;
    const slow = oldest !== undefined && performance.now() - oldest.time > SLOW_MS;
    this.panels.status(slow ? "rendering" : "ready");
  }

  private touch(): void {
    this.moved = true;
    this.wantsFull = true;
    this.movedAt = performance.now();
    this.needsOverlay = true;
  }

  private change(action: (showing: Showing) => void): void {
    if (!this.showing) return;
    action(this.showing);
    this.currentCamera = -1;
    this.touch();
  }

  private turn(yaw: number, pitch: number): void {
    this.change(({ view }) => view.orbit(yaw, pitch));
  }

  /** The target follows the pointer. */
  private pan(right: number, down: number): void {
    this.change(({ view }) => {
      const across = view.distance / (view.lens.fx * this.frame.width);
      const along = view.distance / (view.lens.fy * this.frame.height);
      view.move(-right * across, -down * along, 0);
    });
  }

  private walk(right: number, up: number, forward: number): void {
    this.change(({ view, surroundings }) => {
      const speed = 0.7 * surroundings.extent;
      view.move(right * speed, -up * speed, forward * speed);
    });
  }

  private hover(x: number, y: number): void {
    if (!this.showing) return;
    const { frusta, scene } = this.showing;
    const found = frusta.at(x, y);
    this.panels.tip(found < 0 ? "" : `Input view ${found + 1} of ${scene.cameras.length}: click to go there`, x, y);
    if (found === frusta.hovered) return;
    frusta.hovered = found;
    this.stage.classList.toggle("clickable", found >= 0);
    this.needsOverlay = true;
  }

  private click(x: number, y: number): void {
    const found = this.showing ? this.showing.frusta.at(x, y) : -1;
    if (found >= 0) this.jump(found);
  }

  private jump(index: number): void {
    if (!this.showing) return;
    const { scene, view, frusta } = this.showing;
    view.jump(scene.cameras[index]);
    this.currentCamera = index;
    frusta.hovered = -1;
    this.panels.tip("", 0, 0);
    this.stage.classList.remove("clickable");
    this.layout();
    this.touch();
  }

  private key(name: string): void {
    const count = this.showing?.scene.cameras.length ?? 0;
    if (name === "r") this.jump(0);
    if (name === "f") this.toggleFrusta();
    if (name === "h" || name === "?") this.panels.toggleHelp();
    if (name === "]" && count > 0) this.jump((this.currentCamera + 1) % count);
    if (name === "[" && count > 0) this.jump((Math.max(0, this.currentCamera) + count - 1) % count);
  }

  private toggleFrusta(): void {
    if (!this.showing) return;
    const { frusta } = this.showing;
    frusta.visible = !frusta.visible;
    this.panels.pressed("frusta", frusta.visible);
    this.needsOverlay = true;
  }

  private chooseSide(select: HTMLSelectElement): void {
    if (!this.showing) return;
    this.showing.resolution.fullSide = Number(select.value);
    this.wantsFull = true;
    select.blur();
  }

  /** The picture is as large as fits; the overlay covers the whole stage, in the screen's own pixels. */
  private layout(): void {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const aspect = this.showing?.view.lens.aspect ?? 4 / 3;
    const fit = Math.min(width, height * aspect);
    this.frame = { width: fit, height: fit / aspect, left: (width - fit) / 2, top: (height - fit / aspect) / 2 };
    Object.assign(this.picture.style, {
      left: `${this.frame.left}px`,
      top: `${this.frame.top}px`,
      width: `${this.frame.width}px`,
      height: `${this.frame.height}px`,
    });
    this.overlay.width = Math.round(width * devicePixelRatio);
    this.overlay.height = Math.round(height * devicePixelRatio);
    this.needsOverlay = true;
  }

  private drawOverlay({ frusta, view }: Showing): void {
    this.needsOverlay = false;
    const canvas = this.overlay.getContext("2d");
    if (!canvas) return;
    canvas.setTransform(1, 0, 0, 1, 0, 0);
    canvas.clearRect(0, 0, this.overlay.width, this.overlay.height);
    canvas.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    canvas.lineJoin = "round";
    frusta.draw(canvas, view, this.frame, this.currentCamera);
  }
}

new Viewer();
