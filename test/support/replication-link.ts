// The way from one replica to one server of its triple, through which its receiver and its clone connect. It can hold
// everything back, lose acknowledgements, or be cut.
import { connect, createServer, type Server, type Socket } from "node:net";
import type { AgentServerConfigInput } from "../../storage-agent/config.ts";

export type LinkState =
  | "open"
  /** Connections live, nothing passes. */
  | "silent"
  /** What the replica sends is lost: acknowledgements never arrive, events still do. */
  | "deaf-source"
  /** Connections are ended and refused. */
  | "cut";

export class ReplicationLink implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<{ readonly replica: Socket; readonly source: Socket }>();
  readonly #held: (() => void)[] = [];
  #state: LinkState = "open";
  /** Set when the server that it leads to is known. */
  target = { host: "127.0.0.1", port: 0 };

  private constructor() {
    this.#server = createServer((replica) => this.#join(replica));
  }

  static async start(): Promise<ReplicationLink> {
    const link = new ReplicationLink();
    await new Promise<void>((resolve, reject) => {
      link.#server.once("error", reject);
      link.#server.listen(0, "127.0.0.1", () => resolve());
    });
    return link;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the link does not listen");
    return address.port;
  }

  set(state: LinkState): void {
    this.#state = state;
    if (state === "cut") this.#endAll();
    if (state === "open") for (const pass of this.#held.splice(0)) pass();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#endAll();
    await closed;
  }

  #endAll(): void {
    this.#held.splice(0);
    for (const { replica, source } of this.#pairs) {
      replica.destroy();
      source.destroy();
    }
  }

  #join(replica: Socket): void {
    if (this.#state === "cut") return void replica.destroy();
    const source = connect(this.target.port, this.target.host);
    const pair = { replica, source };
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      replica.destroy();
      source.destroy();
    };
    for (const socket of [replica, source]) socket.on("error", end).on("close", end);
    replica.on("data", (data) => {
      if (this.#state !== "deaf-source") this.#pass(() => source.write(data));
    });
    source.on("data", (data) => this.#pass(() => replica.write(data)));
  }

  #pass(forward: () => void): void {
    if (this.#state === "silent") this.#held.push(forward);
    else forward();
  }
}

/** Links between every two servers of a triple, by `<replica>><source>`. */
export class ReplicationLinks implements AsyncDisposable {
  readonly #links = new Map<string, ReplicationLink>();

  static async between(names: readonly string[]): Promise<ReplicationLinks> {
    const links = new ReplicationLinks();
    for (const from of names) {
      for (const to of names) if (from !== to) links.#links.set(`${from}>${to}`, await ReplicationLink.start());
    }
    return links;
  }

  get(replica: string, source: string): ReplicationLink {
    const link = this.#links.get(`${replica}>${source}`);
    if (link === undefined) throw new Error(`no link from ${replica} to ${source}`);
    return link;
  }

  /** The config of an agent whose server meets its peers through the links. */
  readonly configure = (config: AgentServerConfigInput): AgentServerConfigInput => {
    const peers = config.peers.map((peer) => {
      const link = this.get(config.name, peer.name);
      link.target = { host: peer.host, port: peer.port };
      return { ...peer, host: "127.0.0.1", port: link.port };
    });
    return { ...config, peers };
  };

  openAll(): void {
    for (const link of this.#links.values()) link.set("open");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#links.values()) await link[Symbol.asyncDispose]();
  }
}
