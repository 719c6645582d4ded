// The WebSocket to the program; it comes back by itself.
import { CameraJson, SceneJson } from "./scene";

export interface FrameHeader {
  id: number;
  width: number;
  height: number;
  render_ms: number;
  type: string;
}

export interface Listener {
  connected(): void;
  disconnected(): void;
  scene(scene: SceneJson): void;
  frame(header: FrameHeader, picture: Blob): void;
  failed(message: string): void;
}

const SLOWEST_RETRY_MS = 4000;

export class Connection {
  private socket: WebSocket | undefined;
  private retryMs = 500;

  constructor(private readonly listener: Listener) {
    this.open();
  }

  /** Whether it was sent. */
  request(id: number, camera: CameraJson): boolean {
    if (!this.socket || this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify({ id, ...camera }));
    return true;
  }

  private open(): void {
    const socket = new WebSocket(`ws://${location.host}/frames`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.retryMs = 500;
      this.listener.connected();
    };
    socket.onclose = () => {
      this.listener.disconnected();
      setTimeout(() => this.open(), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, SLOWEST_RETRY_MS);
    };
    socket.onmessage = (event: MessageEvent) => this.receive(event.data);
    this.socket = socket;
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data === "string") {
      const message = JSON.parse(data);
      if (message.type === "scene") this.listener.scene(message);
      if (message.type === "error") this.listener.failed(message.message);
      return;
    }
    const size = new DataView(data).getUint32(0, true);
    const header: FrameHeader = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
    this.listener.frame(header, new Blob([new Uint8Array(data, 4 + size)], { type: header.type }));
  }
}
