// Asks health checkers for what they know.
import { Agent, request } from "undici";
import type { z } from "zod";
import { SERVERS_PATH, type WireServers, wireServersSchema } from "../../core/schemas/wire-servers.ts";
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

/** Its calls never reject: null is a checker that does not answer in time or not in our words. */
export class CheckerClient {
  readonly #agent = new Agent({ connections: CONNECTIONS_PER_CHECKER, maxResponseSize: ANSWER_BYTES_MAX });

  /** One checker's verdicts. */
  verdicts(url: string, timeoutMs: number): Promise<WireVerdictReport | null> {
    return this.#get(url + VERDICTS_PATH, timeoutMs, verdictReportSchema);
  }

  /** What one checker sees of the MySQL servers. */
  servers(url: string, timeoutMs: number): Promise<WireServers | null> {
    return this.#get(url + SERVERS_PATH, timeoutMs, wireServersSchema);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #get<S extends z.ZodType>(url: string, timeoutMs: number, schema: S): Promise<z.output<S> | null> {
    try {
      const { statusCode, body } = await request(url, {
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await body.text();
      return statusCode === 200 ? schema.parse(JSON.parse(text)) : null;
    } catch {
      return null;
    }
  }
}
