// A TCP relay between a client and a MySQL server that can fail in the ways that a server or a network does.
import { createServer, connect, type Server, type Socket } from "node:net";

/** What happens to a COMMIT that passes. */
export type CommitFault =
  | "none"
  /** The server gets it, the answer is held back for as long as this lasts. */
  | "hold-answer"
  /** The server gets it, the client loses the connection. */
  | "cut-after"
  /** The client loses the connection, the server never gets it. */
  | "cut-before";

const COM_QUERY = 0x03;
const COMMIT = Buffer.from("COMMIT");

export class TcpRelay implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #pairs = new Set<{ client: Socket; upstream: Socket }>();
  #hung = false;
  #held: (() => void)[] = [];
  /** Commits that met a fault. */
  commitFaults = 0;
  commitFault: CommitFault = "none";
  /** Connections accepted since the start. */
  accepted = 0;

  static async start(target: { readonly host: string; readonly port: number }): Promise<TcpRelay> {
    const relay = new TcpRelay(target);
    await relay.listen(0);
    return relay;
  }

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the relay does not listen");
    return address.port;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => resolve());
    });
  }

  /** Nothing passes any more in either direction; connections are still accepted. As of a stopped process. */
  hang(): void {
    this.#hung = true;
  }

  /** What was held passes now. */
  resume(): void {
    this.#hung = false;
    const held = this.#held;
    this.#held = [];
    for (const pass of held) pass();
  }

  /** Cuts what there is and refuses what comes, as of a dead server. @returns the port, for {@link listen} */
  async die(): Promise<number> {
    const { port } = this;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#cutAll();
    await closed;
    return port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.die();
    else this.#cutAll();
  }

  #cutAll(): void {
    this.#held = [];
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
  }

  #join(client: Socket): void {
    // Accepted just before `die`, and told of after it: it would be held, and waited for, for ever.
    if (!this.#server.listening) return void client.destroy();
    this.accepted += 1;
    const upstream = connect(this.#target.port, this.#target.host);
    const pair = { client, upstream };
    this.#pairs.add(pair);
    const drop = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("error", drop).on("close", drop);
    let answersHeld = false;
    client.on("data", (data) => {
      if (isCommit(data) && this.commitFault !== "none") {
        this.commitFaults += 1;
        if (this.commitFault === "cut-before") return drop();
        if (this.commitFault === "cut-after") upstream.once("data", drop);
        answersHeld = true;
      }
      this.#pass(() => upstream.write(data));
    });
    upstream.on("data", (data) => {
      if (!answersHeld) this.#pass(() => client.write(data));
    });
  }

  #pass(forward: () => void): void {
    if (this.#hung) this.#held.push(forward);
    else forward();
  }
}

/** A text-protocol packet: three bytes of length, one of sequence, the command, perhaps attributes, the statements. */
function isCommit(packet: Buffer): boolean {
  return packet[4] === COM_QUERY && packet.subarray(-COMMIT.length).equals(COMMIT);
}
