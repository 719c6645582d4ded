// The input cameras, drawn as pyramids over the frame.
import { CameraJson, Pose, poseOf } from "./scene";
import { Vec, add, dot, length, scale, sub } from "./vector";
import { Lens, View, lensOf } from "./view";

export interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}

type Point = readonly [number, number];

interface Frustum {
  apex: Vec;
  corners: [Vec, Vec, Vec, Vec]; // clockwise from the top left
  crest: [Vec, Vec, Vec]; // a small triangle that shows which side is up
}

const GRAB_PIXELS = 14;

function frustumOf(camera: CameraJson, depth: number): Frustum {
  const { right, down, forward, position }: Pose = poseOf(camera);
  const lens = lensOf(camera);
  const at = (u: number, v: number): Vec => {
    const x = ((u - lens.cx) / lens.fx) * depth;
    const y = ((v - lens.cy) / lens.fy) * depth;
    return add(position, add(add(scale(right, x), scale(down, y)), scale(forward, depth)));
  };
  return {
    apex: position,
    corners: [at(0, 0), at(1, 0), at(1, 1), at(0, 1)],
    crest: [at(0.3, -0.06), at(0.5, -0.3), at(0.7, -0.06)],
  };
}

export class Frusta {
  visible = true;
  hovered = -1;
  private readonly frusta: Frustum[];
  private readonly depth: number;
  private onScreen: { index: number; points: Point[] }[] = [];

  constructor(cameras: readonly CameraJson[], center: Vec) {
    const distances = cameras.map((camera) => length(sub(poseOf(camera).position, center))).sort((a, b) => a - b);
    this.depth = 0.12 * (distances[distances.length >> 1] || 1);
    this.frusta = cameras.map((camera) => frustumOf(camera, this.depth));
  }

  draw(canvas: CanvasRenderingContext2D, view: View, frame: Rectangle, current: number): void {
    this.onScreen = [];
    if (!this.visible) return;
    const order = this.frusta
      .map((frustum, index) => ({ frustum, index, away: length(sub(frustum.apex, view.pose.position)) }))
      .filter(({ away }) => away > 0.5 * this.depth) // the camera one looks through would only frame the picture
      .sort((a, b) => b.away - a.away);
    for (const { frustum, index, away } of order) {
      const strength = Math.min(1, Math.max(0.35, (2.2 * view.distance) / (view.distance + away)));
      const color = index === this.hovered ? "255, 205, 110" : index === current ? "255, 255, 255" : "130, 186, 255";
      canvas.fillStyle = `rgba(${color}, ${index === this.hovered ? 0.35 : 0.14 * strength})`;
      this.trace(canvas, frustum, index, view, frame);
      // A dark line below the bright one: it is seen on any picture.
      const width = index === this.hovered ? 2.2 : 1.5;
      canvas.strokeStyle = `rgba(12, 18, 28, ${0.55 * strength})`;
      canvas.lineWidth = width + 2;
      canvas.stroke();
      canvas.strokeStyle = `rgba(${color}, ${index === this.hovered ? 1 : 0.95 * strength})`;
      canvas.lineWidth = width;
      canvas.stroke();
    }
  }

  /** The camera near a place on the screen, or -1. */
  at(x: number, y: number): number {
    let best = -1;
    let closest = GRAB_PIXELS;
    for (const { index, points } of this.onScreen) {
      const middle: Point = [
        points.reduce((sum, point) => sum + point[0], 0) / points.length,
        points.reduce((sum, point) => sum + point[1], 0) / points.length,
      ];
      const reach = Math.max(...points.map((point) => Math.hypot(point[0] - middle[0], point[1] - middle[1])));
      // A large pyramid is grabbed by its middle half, so that one can still drag past it.
      const away = Math.hypot(x - middle[0], y - middle[1]) / Math.max(1, reach / (2 * GRAB_PIXELS));
      if (away < closest) {
        closest = away;
        best = index;
      }
    }
    return best;
  }

  /** Fills the image plane and leaves the edges as the canvas's path. */
  private trace(
    canvas: CanvasRenderingContext2D, frustum: Frustum, index: number, view: View, frame: Rectangle,
  ): void {
    const near = 0.02 * this.depth;
    const line = (from: Vec, to: Vec) => {
      const ends = clipped(inCamera(from, view.pose), inCamera(to, view.pose), near);
      if (!ends) return;
      canvas.moveTo(...onScreen(ends[0], view.lens, frame));
      canvas.lineTo(...onScreen(ends[1], view.lens, frame));
    };
    const all = [frustum.apex, ...frustum.corners];
    const seen = all.map((point) => inCamera(point, view.pose));
    const whole = seen.every((point) => point[2] > near);
    if (whole) {
      const points = seen.map((point) => onScreen(point, view.lens, frame));
      this.onScreen.push({ index, points });
      canvas.beginPath();
      points.slice(1).forEach((point, i) => (i === 0 ? canvas.moveTo(...point) : canvas.lineTo(...point)));
      canvas.closePath();
      canvas.fill();
    }
    canvas.beginPath();
    frustum.corners.forEach((corner, i) => {
      line(frustum.apex, corner);
      line(corner, frustum.corners[(i + 1) % 4]);
    });
    frustum.crest.forEach((point, i) => line(point, frustum.crest[(i + 1) % 3]));
  }
}

function inCamera(point: Vec, pose: Pose): Vec {
  const offset = sub(point, pose.position);
  return [dot(offset, pose.right), dot(offset, pose.down), dot(offset, pose.forward)];
}

function onScreen(point: Vec, lens: Lens, frame: Rectangle): [number, number] {
  return [
    frame.left + frame.width * ((lens.fx * point[0]) / point[2] + lens.cx),
    frame.top + frame.height * ((lens.fy * point[1]) / point[2] + lens.cy),
  ];
}

/** The part of a line that lies in front of the camera. */
function clipped(from: Vec, to: Vec, near: number): [Vec, Vec] | undefined {
  if (from[2] < near && to[2] < near) return undefined;
  const cut = (outside: Vec, inside: Vec): Vec => {
    const share = (near - outside[2]) / (inside[2] - outside[2]);
    return add(outside, scale(sub(inside, outside), share));
  };
  return [from[2] < near ? cut(from, to) : from, to[2] < near ? cut(to, from) : to];
}
