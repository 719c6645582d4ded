// Mouse, touch and keys.
export interface Actions {
  orbit(right: number, down: number): void; // pixels
  pan(right: number, down: number): void; // pixels
  approach(amount: number): void;
  walk(right: number, up: number, forward: number): void; // seconds at normal speed
  turn(right: number, down: number): void; // seconds at normal speed
  hover(x: number, y: number): void;
  click(x: number, y: number): void;
  key(name: string): void;
}

const CLICK_PIXELS = 4;
const WALK: Record<string, [number, number, number]> = {
  w: [0, 0, 1], s: [0, 0, -1], a: [-1, 0, 0], d: [1, 0, 0], e: [0, 1, 0], q: [0, -1, 0],
};
const TURN: Record<string, [number, number]> = {
  arrowleft: [1, 0], arrowright: [-1, 0], arrowup: [0, 1], arrowdown: [0, -1],
};

interface Finger {
  x: number;
  y: number;
  pans: boolean;
}

export class Controls {
  private readonly fingers = new Map<number, Finger>();
  private readonly held = new Set<string>();
  private travelled = 0;
  private faster = false;

  constructor(private readonly surface: HTMLElement, private readonly actions: Actions) {
    surface.addEventListener("pointerdown", (event) => this.press(event));
    surface.addEventListener("pointermove", (event) => this.drag(event));
    surface.addEventListener("pointerup", (event) => this.release(event, true));
    surface.addEventListener("pointercancel", (event) => this.release(event, false));
    surface.addEventListener("contextmenu", (event) => event.preventDefault());
    surface.addEventListener("wheel", (event) => this.scroll(event), { passive: false });
    window.addEventListener("keydown", (event) => this.keyDown(event));
    window.addEventListener("keyup", (event) => this.held.delete(event.key.toLowerCase()));
    window.addEventListener("blur", () => this.held.clear());
  }

  get dragging(): boolean {
    return this.fingers.size > 0;
  }

  /** Applies the keys that are held; called once per animation frame. */
  step(seconds: number): void {
    const speed = seconds * (this.faster ? 3 : 1);
    for (const key of this.held) {
      if (WALK[key]) this.actions.walk(WALK[key][0] * speed, WALK[key][1] * speed, WALK[key][2] * speed);
      if (TURN[key]) this.actions.turn(TURN[key][0] * seconds, TURN[key][1] * seconds);
    }
  }

  private press(event: PointerEvent): void {
    this.surface.setPointerCapture(event.pointerId);
    if (this.fingers.size === 0) this.travelled = 0;
    const pans = event.button === 2 || event.button === 1 || event.shiftKey;
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY, pans });
  }

  private drag(event: PointerEvent): void {
    const finger = this.fingers.get(event.pointerId);
    if (!finger) {
      this.actions.hover(event.clientX, event.clientY);
      return;
    }
    const right = event.clientX - finger.x;
    const down = event.clientY - finger.y;
    this.travelled += Math.hypot(right, down);
    if (this.fingers.size === 2) {
      this.pinch(event, finger, right, down);
    } else if (this.travelled >= CLICK_PIXELS) {
      if (finger.pans) this.actions.pan(right, down);
      else this.actions.orbit(right, down);
    }
    finger.x = event.clientX;
    finger.y = event.clientY;
  }

  /** Each of two fingers does half of the panning; their distance is the zoom. */
  private pinch(event: PointerEvent, finger: Finger, right: number, down: number): void {
    const other = [...this.fingers.values()].find((candidate) => candidate !== finger);
    if (!other) return;
    const before = Math.hypot(finger.x - other.x, finger.y - other.y);
    const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
    if (before > 0 && after > 0) this.actions.approach(Math.log(after / before));
    this.actions.pan(right / 2, down / 2);
  }

  private release(event: PointerEvent, clicks: boolean): void {
    const finger = this.fingers.get(event.pointerId);
    this.fingers.delete(event.pointerId);
    const still = this.fingers.size === 0 && this.travelled < CLICK_PIXELS;
    if (finger && !finger.pans && clicks && still) this.actions.click(event.clientX, event.clientY);
  }

  private scroll(event: WheelEvent): void {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1);
    this.actions.approach(Math.max(-0.5, Math.min(0.5, -pixels / 700)));
  }

  private keyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLSelectElement) return;
    const key = event.key.toLowerCase();
    this.faster = event.shiftKey;
    if (WALK[key] || TURN[key]) {
      this.held.add(key);
      event.preventDefault();
    } else if (!event.repeat) {
      this.actions.key(key);
    }
  }
}
