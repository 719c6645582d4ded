// What the program tells about the scene, and what follows from its cameras.
import { Vec, add, dot, length, mean, normalize, scale, solve, sub } from "./vector";

/** A camera as the program writes it: x to the right, y down, z forward. */
export interface CameraJson {
  width: number;
  height: number;
  fx: number;
  fy: number;
  cx: number;
  cy: number;
  camera_to_world: number[][];
}

export interface SceneJson {
  type: "scene";
  name: string;
  details: string;
  size_multiple: number;
  full_side: number;
  max_side: number;
  cameras: CameraJson[];
}

/** Unit vectors of the camera's axes in the world, and where it is. */
export interface Pose {
  right: Vec;
  down: Vec;
  forward: Vec;
  position: Vec;
}

export function poseOf(camera: CameraJson): Pose {
  const column = (j: number): Vec => [
    camera.camera_to_world[0][j],
    camera.camera_to_world[1][j],
    camera.camera_to_world[2][j],
  ];
  return { right: column(0), down: column(1), forward: column(2), position: column(3) };
}

export interface Surroundings {
  center: Vec; // what the cameras look at
  up: Vec;
  extent: number; // a length that is typical for the scene
}

/** The point closest to all optical axes: Σ (I - f fᵀ) c = Σ (I - f fᵀ) p. */
function pointOfInterest(poses: readonly Pose[]): Vec | undefined {
  let rows: [Vec, Vec, Vec] = [[0, 0, 0], [0, 0, 0], [0, 0, 0]];
  let right: Vec = [0, 0, 0];
  for (const { forward, position } of poses) {
    const unit: [Vec, Vec, Vec] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    rows = rows.map((row, i) => add(row, sub(unit[i], scale(forward, forward[i])))) as [Vec, Vec, Vec];
    right = add(right, sub(position, scale(forward, dot(forward, position))));
  }
  return solve(rows, right);
}

export function surroundingsOf(cameras: readonly CameraJson[]): Surroundings {
  const poses = cameras.map(poseOf);
  const middle = mean(poses.map((pose) => pose.position));
  const spread = Math.max(...poses.map((pose) => length(sub(pose.position, middle))));
  const extent = spread > 0 ? spread : 1;
  const upward = mean(poses.map((pose) => scale(pose.down, -1)));
  const up = normalize(length(upward) > 1e-3 ? upward : scale(poses[0].down, -1));
  const found = poses.length > 1 ? pointOfInterest(poses) : undefined;
  const inFront = (point: Vec) => poses.filter((pose) => dot(sub(point, pose.position), pose.forward) > 0).length;
  // Cameras that look side by side or outwards have no common point.
  if (found && inFront(found) > poses.length / 2 && length(sub(found, middle)) < 20 * extent) {
    return { center: found, up, extent };
  }
  return { center: add(poses[0].position, scale(poses[0].forward, extent)), up, extent };
}
