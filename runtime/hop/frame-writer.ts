import type { Duplex } from "node:stream";

const UNREAD_BYTES_MAX = 1024 * 1024;

/** Makes a frame at the last moment; undefined: it is not wanted any more. */
export type LateFrame = () => Buffer | undefined;

/** Frames that come in one turn of the event loop leave with one write, at its end. */
export class FrameWriter {
  readonly #socket: Duplex;
  #frames: LateFrame[] = [];

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** So much was handed over and not taken by the system that the other side does not seem to read. */
  get full(): boolean {
    return this.#socket.writableLength >= UNREAD_BYTES_MAX;
  }

  add(frame: LateFrame): void {
    this.#frames.push(frame);
    if (this.#frames.length === 1) setImmediate(() => this.#send());
  }

  #send(): void {
    const late = this.#frames;
    this.#frames = [];
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    const frames: Buffer[] = [];
    for (const make of late) {
      const frame = make();
      if (frame !== undefined) frames.push(frame);
    }
    const [only] = frames;
    if (only !== undefined) this.#socket.write(frames.length === 1 ? only : Buffer.concat(frames));
  }
}
