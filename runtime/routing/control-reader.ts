// The only use of the control database by processes that serve orders: reading the routing table. Every statement has a deadline; after any
// error the connection is thrown away, so a hung server costs one poll and never a request.
import { schemaFault, CONTROL_SCHEMA_REQUIRED } from "../../core/schema-versions.ts";
import type { RoutingTable } from "../../core/routing-table.ts";
import { connect, type MysqlTarget } from "../mysql.ts";
import { loadRoutingTable } from "./db/load-routing-table.ts";
import { readControlMigrations } from "./db/read-control-migrations.ts";
import { readRoutingVersion } from "./db/read-routing-version.ts";

type Connection = Awaited<ReturnType<typeof connect>>;

/** The control database has a schema that this code cannot work with. */
export class SchemaFault extends Error {
  override readonly name = "SchemaFault";
}

/** Calls must not overlap: the caller runs them one after another. */
export class ControlReader {
  readonly #target: MysqlTarget;
  readonly #timeoutMs: number;
  #connection: Connection | undefined;

  constructor(target: MysqlTarget, timeoutMs: number) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The table, unless its version is `known`.
   * @throws SchemaFault, or the driver's error when the database cannot be read in time
   */
  async readNewer(known: number | null): Promise<RoutingTable | null> {
    const reused = this.#connection !== undefined;
    try {
      return await this.#read(known);
    } catch (error) {
      this.close();
      if (reused && brokeWhileIdle(error)) return this.readNewer(known);
      throw error;
    }
  }

  async #read(known: number | null): Promise<RoutingTable | null> {
    this.#connection ??= await this.#open();
    const version = await readRoutingVersion(this.#connection, this.#timeoutMs);
    return version === known ? null : loadRoutingTable(this.#connection, this.#timeoutMs);
  }

  close(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  async #open(): Promise<Connection> {
    const connection = await connect(this.#target, this.#timeoutMs);
    // A connection that breaks while idle must not end the process; the next statement on it fails and says so.
    connection.on("error", () => undefined);
    try {
      const fault = schemaFault(await readControlMigrations(connection, this.#timeoutMs), CONTROL_SCHEMA_REQUIRED);
      if (fault !== null) throw new SchemaFault(`control: ${fault}`);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}

/** A connection that is gone is worth another one; a server that does not answer in time is not worth another wait. */
function brokeWhileIdle(error: unknown): boolean {
  const { fatal, code } = (error ?? {}) as { fatal?: unknown; code?: unknown };
  return fatal === true && code !== "PROTOCOL_SEQUENCE_TIMEOUT";
}
