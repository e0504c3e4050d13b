import type { ClusterInfo } from "./cluster-info.ts";

/** Codes for a terminal; empty strings elsewhere. */
export interface Colours {
  readonly bold: string;
  readonly dim: string;
  readonly reset: string;
}

/** No colour unless a person reads it on a terminal. */
export function coloursFor(stream: { readonly isTTY?: boolean }): Colours {
  return stream.isTTY === true
    ? { bold: "\u001B[1m", dim: "\u001B[2m", reset: "\u001B[0m" }
    : { bold: "", dim: "", reset: "" };
}

/** What a person needs when the cluster is up: where it is, a tour by curl, where data and logs are, how to stop. */
export function summary(info: ClusterInfo, dir: string, ephemeral: boolean, colours: Colours): string {
  const { bold, dim, reset } = colours;
  const proxies = info.proxies.map(({ url }) => url).join("  ");
  const servers = info.stripes.map(({ stripe, mysql, haproxy }) => {
    const list = mysql.map(({ name, role, port }) => `${name} ${role} :${port}`).join(", ");
    return `  stripe ${stripe}   ${list}; writer :${haproxy.writerPort}, reader :${haproxy.readerPort}`;
  });
  return [
    `${bold}The cluster is up.${reset}`,
    "",
    `  proxy      ${bold}${proxies}${reset}   (API page: ${info.proxies[0]?.url ?? ""}/docs)`,
    `  ops        ${bold}${info.ops.url}${reset}   (${info.ops.url}/ops/v1/stripes)`,
    `  checkers   ${info.checkers.map(({ url }) => `${url}/triples`).join("  ")}`,
    `  control    MySQL on 127.0.0.1:${info.control.port}`,
    ...servers,
    "",
    `${bold}A tour${reset} ${dim}(paste it into another terminal)${reset}`,
    tour(info.proxies[0]?.url ?? ""),
    "",
    `  data       ${dir}${ephemeral ? "   (removed at the end)" : ""}`,
    `  logs       ${dir}/logs`,
    `  processes  ${dir}/cluster.json   (ports, pids, an account to look into the databases)`,
    "",
    "Ctrl-C stops everything.",
    "",
  ].join("\n");
}

/** Create, query, pay, refund and close against a running proxy; needs only a shell, sed and curl. */
export function tour(proxyUrl: string): string {
  const id = `sed 's/.*"transaction_id":"\\([0-9]*\\)".*/\\1/'`;
  const post = `curl -s -X POST -H 'Content-Type: application/json'`;
  const order = (n: string): string =>
    `'{"mchid":"shop1","out_trade_no":"'$(date +%s)-${n}'","description":"A cup of tea","amount":{"total":1999,"currency":"CNY"}}'`;
  return [
    `  P=${proxyUrl}`,
    `  ID=$(${post} $P/v1/orders -d ${order("1")} | ${id}); echo $ID`,
    `  curl -s $P/v1/orders/$ID`,
    `  ${post} $P/v1/orders/$ID/pay -d '{"out_pay_no":"pay-1","amount":{"total":1999,"currency":"CNY"}}'`,
    `  ${post} $P/v1/orders/$ID/refunds -d '{"out_refund_no":"refund-1","amount":{"refund":500,"total":1999,"currency":"CNY"}}'`,
    `  ID=$(${post} $P/v1/orders -d ${order("2")} | ${id})`,
    `  ${post} $P/v1/orders/$ID/close`,
  ].join("\n");
}
