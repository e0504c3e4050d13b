import { type WireVerdictReport, verdictsOf } from "../core/schemas/wire-verdicts.ts";
import { mergeVerdicts, type MergedVerdict } from "../core/verdicts.ts";
import { VerdictClient } from "../runtime/verdicts/fetch-verdicts.ts";

/** What the health checkers say of the stripes, asked when an operator looks. */
export class Verdicts {
  readonly #client = new VerdictClient();
  readonly #urls: readonly string[];
  readonly #timeoutMs: number;

  constructor(urls: readonly string[], timeoutMs: number) {
    this.#urls = urls;
    this.#timeoutMs = timeoutMs;
  }

  /** By stripe; checkers that do not answer have no word. Never rejects. */
  async current(): Promise<Map<number, MergedVerdict>> {
    const reports = await Promise.all(this.#urls.map((url) => this.#client.fetch(url, this.#timeoutMs)));
    return mergeVerdicts(reports.filter((report): report is WireVerdictReport => report !== null).map(verdictsOf));
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
