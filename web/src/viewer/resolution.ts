// How large a frame is asked for: full when nothing moves, smaller while it does.
import { SceneJson } from "./scene";

const MOVING_MS = 60; // what a frame may take while moving
const MOVING_SHARES = [1, 0.75, 0.5, 0.375, 0.25]; // of the full side

export class Resolution {
  fullSide: number;
  private msPerPixel: number | undefined;

  constructor(private readonly scene: SceneJson) {
    this.fullSide = scene.full_side;
  }

  /** Longer sides to choose from, ascending. */
  choices(): number[] {
    const sides = [0.5, 1, 1.5, 2, 3].map((share) => this.rounded(share * this.scene.full_side));
    return [...new Set(sides)].filter((side) => side <= this.scene.max_side);
  }

  measured(pixels: number, ms: number): void {
    const now = ms / pixels;
    this.msPerPixel = this.msPerPixel === undefined ? now : 0.7 * this.msPerPixel + 0.3 * now;
  }

  size(aspect: number, moving: boolean): { width: number; height: number } {
    const full = this.sized(this.fullSide, aspect);
    if (!moving) return full;
    const fullMs = full.width * full.height * (this.msPerPixel ?? Infinity);
    const fitting = MOVING_SHARES.find((share) => share * share * fullMs <= MOVING_MS);
    return this.sized(this.fullSide * (fitting ?? MOVING_SHARES[MOVING_SHARES.length - 1]), aspect);
  }

  private sized(side: number, aspect: number): { width: number; height: number } {
    return {
      width: this.rounded(aspect >= 1 ? side : side * aspect),
      height: this.rounded(aspect >= 1 ? side / aspect : side),
    };
  }

  private rounded(side: number): number {
    const step = this.scene.size_multiple;
    return Math.max(step, Math.round(side / step) * step);
  }
}
