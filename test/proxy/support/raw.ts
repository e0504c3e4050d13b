// Bytes as they are, for requests that no HTTP client would send.
import { connect } from "node:net";
import type { Problem } from "../../../core/problem.ts";

const ANSWER_MAX_MS = 5_000;

export interface RawAnswer {
  /** Everything that came back until the connection was closed or `complete` said so. */
  readonly text: string;
  readonly closed: boolean;
}

/**
 * Sends bytes on a new connection and collects what comes back.
 * @param complete stop when the text so far fits; else when the other side closes
 * @param hangUp close our side after sending
 */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  { complete, hangUp = false }: { complete?: RegExp; hangUp?: boolean } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(bytes, () => {
        if (hangUp) socket.destroy();
      });
    });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no complete answer; so far: ${text}`));
    }, ANSWER_MAX_MS);
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, closed });
    };
    socket.on("data", (chunk) => {
      text += chunk.toString("utf8");
      if (complete?.test(text)) finish(false);
    });
    socket.on("close", () => finish(true));
    socket.on("error", () => finish(true));
  });
}

/** The problem document in a raw answer. */
export function problemIn(text: string): Problem {
  return JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)) as Problem;
}
