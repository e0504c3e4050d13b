// Asks health checkers for their verdicts.
import { Agent, request } from "undici";
import { VERDICTS_PATH, verdictReportSchema, type WireVerdictReport } from "../../core/schemas/wire-verdicts.ts";

const CONNECTIONS_PER_CHECKER = 2;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** The checkers' base URLs in a comma-separated list, as HEALTH_CHECKER_URLS has it. */
export function checkerUrls(list: string): readonly string[] {
  return list.split(",").flatMap((url) => (url.trim() === "" ? [] : [url.trim().replace(/\/$/, "")]));
}

/** Whether every URL of the list is one. */
export function areCheckerUrls(list: string): boolean {
  return checkerUrls(list).every((url) => /^https?:\/\//.test(url) && URL.canParse(url));
}

export class VerdictClient {
  readonly #agent = new Agent({ connections: CONNECTIONS_PER_CHECKER, maxResponseSize: ANSWER_BYTES_MAX });

  /** One checker's report, or null when it does not answer in time or not in our words. Never rejects. */
  async fetch(url: string, timeoutMs: number): Promise<WireVerdictReport | null> {
    try {
      const { statusCode, body } = await request(url + VERDICTS_PATH, {
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await body.text();
      return statusCode === 200 ? verdictReportSchema.parse(JSON.parse(text)) : null;
    } catch {
      return null;
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
