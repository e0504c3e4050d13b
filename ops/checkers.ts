import { mergeServers, type WireServer, type WireServers } from "../core/schemas/wire-servers.ts";
import { type WireVerdictReport, verdictsOf } from "../core/schemas/wire-verdicts.ts";
import { mergeVerdicts, type MergedVerdict } from "../core/verdicts.ts";
import { CheckerClient } from "../runtime/verdicts/checker-client.ts";

export interface CheckersWord {
  /** By stripe. */
  readonly verdicts: ReadonlyMap<number, MergedVerdict>;
  /** By triple. */
  readonly servers: ReadonlyMap<string, readonly WireServer[]>;
}

/** What the health checkers say of the stripes and their servers, asked when an operator looks. */
export class Checkers {
  readonly #client = new CheckerClient();
  readonly #urls: readonly string[];
  readonly #timeoutMs: number;

  constructor(urls: readonly string[], timeoutMs: number) {
    this.#urls = urls;
    this.#timeoutMs = timeoutMs;
  }

  /** Checkers that do not answer have no word. Never rejects. */
  async ask(): Promise<CheckersWord> {
    const [reports, servers] = await Promise.all([
      Promise.all(this.#urls.map((url) => this.#client.verdicts(url, this.#timeoutMs))),
      Promise.all(this.#urls.map((url) => this.#client.servers(url, this.#timeoutMs))),
    ]);
    return {
      verdicts: mergeVerdicts(reports.filter((r): r is WireVerdictReport => r !== null).map(verdictsOf)),
      servers: mergeServers(servers.filter((r): r is WireServers => r !== null)),
    };
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
