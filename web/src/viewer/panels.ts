// The words around the picture.
import { FrameHeader } from "./connection";
import { SceneJson } from "./scene";

export type Status = "connecting" | "ready" | "rendering" | "lost";

const STATUS_WORDS: Record<Status, string> = {
  connecting: "Connecting",
  ready: "Ready",
  rendering: "Rendering",
  lost: "Disconnected",
};
const MESSAGE_MS = 6000;

export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element "${id}"`);
  return found as T;
}

export class Panels {
  private hideTimer: ReturnType<typeof setTimeout> | undefined;

  scene(scene: SceneJson): void {
    const count = scene.cameras.length;
    element("name").textContent = scene.name || "Scene";
    element("details").textContent = scene.details || `${count} input ${count === 1 ? "view" : "views"}`;
    document.title = `${scene.name || "Scene"} · lact viewer`;
  }

  choices(sides: readonly number[], chosen: number): void {
    const select = element<HTMLSelectElement>("side");
    select.replaceChildren(
      ...sides.map((side) => new Option(`${side} px`, String(side), side === chosen, side === chosen)),
    );
  }

  status(status: Status): void {
    const pill = element("status");
    if (pill.dataset.status === status) return;
    pill.dataset.status = status;
    element("status-word").textContent = STATUS_WORDS[status];
  }

  frame(header: FrameHeader, full: boolean): void {
    const ms = header.render_ms;
    element("time").textContent = ms < 10 ? ms.toFixed(1) : ms.toFixed(0);
    element("size").textContent = `${header.width} × ${header.height}`;
    element("kind").textContent = full ? "full" : "moving";
    element("wait").hidden = true;
  }

  /** Stays while `sticky`, or goes by itself. */
  message(sentence: string, sticky = false): void {
    const box = element("message");
    clearTimeout(this.hideTimer);
    box.textContent = sentence;
    box.hidden = false;
    if (!sticky) this.hideTimer = setTimeout(() => (box.hidden = true), MESSAGE_MS);
  }

  clearMessage(): void {
    clearTimeout(this.hideTimer);
    element("message").hidden = true;
  }

  tip(text: string, x: number, y: number): void {
    const tip = element("tip");
    tip.hidden = text === "";
    tip.textContent = text;
    tip.style.transform = `translate(${Math.round(x + 14)}px, ${Math.round(y + 14)}px)`;
  }

  pressed(id: string, on: boolean): void {
    element(id).setAttribute("aria-pressed", String(on));
  }

  toggleHelp(): void {
    const help = element("help");
    help.hidden = !help.hidden;
    this.pressed("help-button", !help.hidden);
  }
}
