// The one session through which an agent changes its server. It is used only when no other session of the agent's
// account is left (see db/sweep.ts) and when mysqld was started with the settings that the protocol rests on.
import { Deadline, sleep } from "../runtime/clock.ts";
import { CONNECT_TIMEOUT_MS, MysqldDown, Session } from "./db/session.ts";
import { wrongSettings } from "./db/settings.ts";
import { sweep } from "./db/sweep.ts";
import type { AgentServerConfig } from "./config.ts";
import type { Logger } from "../runtime/logger.ts";

const SWEEP_MS = 2_000;
const RETRY_MS = 50;

export class RoleSessions {
  readonly #config: AgentServerConfig;
  readonly #logger: Logger;
  #session: Session | null = null;
  #wrongSettings: readonly string[] = [];

  constructor(config: AgentServerConfig, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
  }

  /** What is wrong with mysqld's settings (A7), as read when the session was opened; nothing is known without one. */
  get wrongSettings(): readonly string[] {
    return this.#session === null || this.#session.lost ? [] : this.#wrongSettings;
  }

  /**
   * The swept session.
   * @throws MysqldDown, NotSwept
   */
  async get(): Promise<Session> {
    if (this.#session && !this.#session.lost) return this.#session;
    const { agent } = this.#config.accounts;
    const { adminHost: host, adminPort: port } = this.#config.mysql;
    const session = await Session.open({ host, port, ...agent }, CONNECT_TIMEOUT_MS);
    try {
      await sweep(session, agent.user, new Deadline(SWEEP_MS));
      this.#wrongSettings = await wrongSettings(session, (what) => this.#logger.warn({ what }, "set right"));
    } catch (error) {
      session.destroy();
      throw error;
    }
    this.#session = session;
    return session;
  }

  /**
   * Waits for a mysqld that is starting. Gives up on one that accepts connections and does not answer `silentMax` times
   * in a row: that one hangs.
   * @throws MysqldDown, NotSwept
   */
  async getWhenUp(deadline: Deadline, silentMax = 2): Promise<Session> {
    for (let silent = 0; ; ) {
      try {
        return await this.get();
      } catch (error) {
        if (!(error instanceof MysqldDown) || deadline.passed) throw error;
        silent = error.refused ? 0 : silent + 1;
        if (silent >= silentMax) throw error;
      }
      await sleep(RETRY_MS);
    }
  }

  close(): void {
    this.#session?.destroy();
    this.#session = null;
  }
}
