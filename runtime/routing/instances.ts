// Service addresses that stand for a name: `dns+http://NAME:PORT` in the routing table means every address that NAME has
// now, as container engines and orchestrators keep one for all instances of a service.
import { lookup } from "node:dns/promises";
import type { RoutingTable, StripeRow } from "../../core/routing-table.ts";
import { sleep } from "../clock.ts";

const PREFIX = "dns+";
const LOOKUP_MAX_MS = 500;

/** A base URL at which any one of the instances answers, for callers that do not choose. */
export function anyInstance(service: string): string {
  return service.startsWith(PREFIX) ? service.slice(PREFIX.length) : service;
}

/** Resolves names over and over; what was last known of a name stays while nothing can be learned of it. */
export class Instances {
  readonly #known = new Map<string, readonly string[]>();
  readonly #lookups = new Map<string, Promise<void>>();

  /**
   * The table with an address for each instance: `table` itself when no stripe is named. Takes at most half a second,
   * whatever the name server does; an answer that comes later counts the next time.
   */
  async expanded(table: RoutingTable): Promise<RoutingTable> {
    const names = table.stripes.flatMap(({ services }) => services.filter((service) => service.startsWith(PREFIX)));
    if (names.length === 0) return table;
    const done = new AbortController();
    const looked = Promise.all(names.map((service) => this.#look(service))).then(() => done.abort());
    await Promise.race([looked, sleep(LOOKUP_MAX_MS, done.signal)]);
    return { ...table, stripes: table.stripes.map((row) => this.#withAddresses(row)) };
  }

  #withAddresses(row: StripeRow): StripeRow {
    const services = row.services.flatMap((service) =>
      service.startsWith(PREFIX) ? (this.#known.get(service) ?? [anyInstance(service)]) : [service],
    );
    return { ...row, services };
  }

  /** Never rejects; a name is looked up once at a time. */
  #look(service: string): Promise<void> {
    const under = this.#lookups.get(service);
    if (under !== undefined) return under;
    const looking = this.#lookUp(service)
      .catch(() => undefined) // no such name now: all instances may be away, and the last ones known are asked
      .finally(() => this.#lookups.delete(service));
    this.#lookups.set(service, looking);
    return looking;
  }

  async #lookUp(service: string): Promise<void> {
    const url = new URL(anyInstance(service));
    const found = await lookup(url.hostname, { all: true });
    const urls = found.map(({ address, family }) => {
      const host = family === 6 ? `[${address}]` : address;
      return `${url.protocol}//${host}:${url.port === "" ? 80 : url.port}`;
    });
    if (urls.length > 0) this.#known.set(service, [...new Set(urls)].toSorted());
  }
}

/** Whether two tables name the same instances. */
export function sameInstances(a: RoutingTable, b: RoutingTable): boolean {
  const list = ({ stripes }: RoutingTable): string => JSON.stringify(stripes.map(({ services }) => services));
  return list(a) === list(b);
}
