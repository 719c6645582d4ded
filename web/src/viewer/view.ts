// Where the viewer looks from: a camera that circles a target.
import { CameraJson, Pose, Surroundings, poseOf } from "./scene";
import { Vec, add, cross, dot, normalize, rotate, scale, sub } from "./vector";

/** Intrinsics in units of the picture's width and height. */
export interface Lens {
  aspect: number;
  fx: number;
  fy: number;
  cx: number;
  cy: number;
}

export function lensOf(camera: CameraJson): Lens {
  const { width, height } = camera;
  return {
    aspect: width / height,
    fx: camera.fx / width,
    fy: camera.fy / height,
    cx: camera.cx / width,
    cy: camera.cy / height,
  };
}

const POLE = 0.996; // cosine of the steepest angle to the vertical

export class View {
  pose: Pose;
  lens: Lens;
  distance: number;

  constructor(camera: CameraJson, private readonly surroundings: Surroundings) {
    this.pose = poseOf(camera);
    this.lens = lensOf(camera);
    this.distance = 1;
    this.jump(camera);
  }

  /** To the place of a camera; from there one circles around the depth of the scene's centre. */
  jump(camera: CameraJson): void {
    this.pose = poseOf(camera);
    this.lens = lensOf(camera);
    const { center, extent } = this.surroundings;
    const depth = dot(sub(center, this.pose.position), this.pose.forward);
    this.distance = Math.max(depth, 0.1 * extent);
  }

  get target(): Vec {
    return add(this.pose.position, scale(this.pose.forward, this.distance));
  }

  /** Angles in radians: around the vertical, and around the axis to the right. */
  orbit(yaw: number, pitch: number): void {
    const { up } = this.surroundings;
    const target = this.target;
    const turn = (axis: Vec, angle: number) => {
      const { right, forward } = this.pose;
      this.face(rotate(right, axis, angle), rotate(forward, axis, angle));
    };
    turn(up, yaw);
    const before = this.pose;
    const steepness = Math.abs(dot(before.forward, up));
    turn(before.right, pitch);
    const steeper = Math.abs(dot(this.pose.forward, up));
    if (steeper > POLE && steeper > steepness) this.pose = before;
    this.pose = { ...this.pose, position: sub(target, scale(this.pose.forward, this.distance)) };
  }

  /** Closer (amount > 0) or away; near the target it is pushed along, so that one never gets stuck. */
  approach(amount: number): void {
    const target = this.target;
    const closest = 0.05 * this.surroundings.extent;
    const wanted = this.distance * Math.exp(-amount);
    if (wanted < closest) {
      this.move(0, 0, this.distance - wanted);
      return;
    }
    this.distance = Math.min(wanted, 100 * this.surroundings.extent);
    this.pose = { ...this.pose, position: sub(target, scale(this.pose.forward, this.distance)) };
  }

  /** Along the camera's own axes. */
  move(right: number, down: number, forward: number): void {
    const { pose } = this;
    const step = add(add(scale(pose.right, right), scale(pose.down, down)), scale(pose.forward, forward));
    this.pose = { ...pose, position: add(pose.position, step) };
  }

  camera(width: number, height: number): CameraJson {
    const { right, down, forward, position } = this.pose;
    const row = (i: number) => [right[i], down[i], forward[i], position[i]];
    return {
      width,
      height,
      fx: this.lens.fx * width,
      fy: this.lens.fy * height,
      cx: this.lens.cx * width,
      cy: this.lens.cy * height,
      camera_to_world: [row(0), row(1), row(2), [0, 0, 0, 1]],
    };
  }

  /** Rounding errors must not add up to something that is no rotation. */
  private face(right: Vec, forward: Vec): void {
    const z = normalize(forward);
    const x = normalize(sub(right, scale(z, dot(right, z))));
    this.pose = { right: x, down: cross(z, x), forward: z, position: this.pose.position };
  }
}
