// Slow links: what a client says to a server arrives a while later, as what a replica says to its source, its
// acknowledgements first of all. In a process of its own, as the bench's must not be held up; see relays.ts.
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

export interface RelayOrder {
  readonly delayMs: number;
  readonly servers: readonly { readonly name: string; readonly address: string; readonly port: number }[];
}

/** Passes chunks on in their order, each `delayMs` after it came. */
function delayed(from: Socket, to: Socket, delayMs: number): void {
  from.on("data", (chunk) => {
    setTimeout(() => {
      if (!to.destroyed) to.write(chunk);
    }, delayMs);
  });
}

async function relay(server: RelayOrder["servers"][number], delayMs: number): Promise<number> {
  const listener = createServer((replica) => {
    const source = connect({ host: server.address, port: server.port, localAddress: replica.remoteAddress });
    for (const socket of [replica, source]) socket.setNoDelay(true);
    delayed(replica, source, delayMs);
    source.on("data", (chunk) => void replica.write(chunk));
    for (const [one, other] of [
      [replica, source],
      [source, replica],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  listener.listen(0, server.address);
  await once(listener, "listening");
  return (listener.address() as AddressInfo).port;
}

process.once("message", ({ delayMs, servers }: RelayOrder) => {
  void Promise.all(servers.map(async (server) => [server.name, await relay(server, delayMs)] as const)).then((ports) =>
    process.send?.(Object.fromEntries(ports)),
  );
});
process.on("disconnect", () => process.exit(0));
