import assert from "node:assert/strict";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { agentsConfigSchema } from "../../storage-agent/config.ts";
import { agentsConfig } from "../../local-cluster/agents-config.ts";
import { ClusterFolder } from "../../local-cluster/folder.ts";
import { checkHaproxyConfig, haproxyConfig } from "../../local-cluster/haproxy.ts";
import { findOrInstallHaproxy } from "../../local-cluster/install/haproxy.ts";
import { findOrInstallMysql } from "../../local-cluster/install/mysql.ts";
import { quietWork } from "../../local-cluster/install/work.ts";
import { stripesOf } from "../../local-cluster/layout.ts";
import { controlServerOptions, SOCKET_PATH_CHARS_MAX, tripleServerOptions } from "../../local-cluster/mysqld.ts";
import { planCluster, portRequests, SIZE_MAX } from "../../local-cluster/plan.ts";
import { choosePorts, openPortBook } from "../../local-cluster/ports.ts";
import { loadOrMakeSecrets } from "../../local-cluster/secrets.ts";

let scratch = "";
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "cluster-plan-"));
});
after(() => rm(scratch, { recursive: true, force: true }));

const place = {
  name: "s1a",
  serverId: 101,
  dataDir: "/d/s1a",
  address: "127.5.1.1",
  port: 23_100,
  adminPort: 23_101,
  socket: "/d/s1a.sock",
  errorLog: null,
};

test("a server of a triple starts closed, durable, and never falls back to asynchronous", () => {
  const options = new Set(tripleServerOptions(place));
  for (const wanted of [
    "--super-read-only=ON",
    "--skip-replica-start=ON",
    "--persisted-globals-load=OFF",
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--sync-relay-log=1",
    "--relay-log-recovery=OFF",
    "--rpl-semi-sync-source-enabled=OFF",
    "--rpl-semi-sync-replica-enabled=OFF",
    "--rpl-semi-sync-source-timeout=4294967295",
    "--rpl-semi-sync-source-wait-for-replica-count=1",
    "--rpl-semi-sync-source-wait-no-replica=ON",
    "--rpl-semi-sync-source-wait-point=AFTER_SYNC",
    "--gtid-mode=ON",
    "--replica-preserve-commit-order=ON",
    "--bind-address=127.0.0.1,127.5.1.1",
    "--admin-address=127.0.0.1",
  ]) {
    assert.ok(options.has(wanted), wanted);
  }
});

test("the control database is writable and has no part in semi-sync", () => {
  const options = controlServerOptions({ ...place, address: "127.0.0.1" });
  assert.deepEqual(
    options.filter((option) => /read-only|semi-sync/.test(option)),
    [],
  );
  assert.ok(options.includes("--bind-address=127.0.0.1"));
});

test("kept ports are used again, taken ones are passed over and said", async () => {
  const requests = [{ name: "proxy-1", wanted: 8080 }, { name: "control" }, { name: "s1a" }];
  const first = await choosePorts(requests, {}, 0, async () => true);
  assert.deepEqual(first.ports, { "proxy-1": 8080, control: 23_100, s1a: 23_101 });
  assert.deepEqual(first.moves, []);
  const again = await choosePorts(requests, { control: 23_150, s1a: 23_101 }, 0, async () => true);
  assert.deepEqual(again.ports, { "proxy-1": 8080, control: 23_150, s1a: 23_101 });
  const moved = await choosePorts(requests, first.ports, 0, async (port) => port !== 8080 && port !== 23_100);
  assert.deepEqual(moved.ports, { "proxy-1": 8081, control: 23_102, s1a: 23_101 });
  assert.deepEqual(
    moved.moves.map(({ name, wanted, got }) => [name, wanted, got]),
    [
      ["proxy-1", 8080, 8081],
      ["control", 23_100, 23_102],
    ],
  );
});

test("a port that the user named and somebody has is an error, and two processes never get one port", async () => {
  await assert.rejects(
    choosePorts([{ name: "proxy-1", wanted: 8080, strict: true }], {}, 0, async (port) => port !== 8080),
    /port 8080 \(proxy-1\) is taken/,
  );
  const clash = [
    { name: "proxy-1", wanted: 8090 },
    { name: "ops", wanted: 8090 },
  ];
  const { ports } = await choosePorts(clash, {}, 0, async () => true);
  assert.deepEqual(ports, { "proxy-1": 8090, ops: 8091 });
});

test("two folders get different blocks of ports, and the largest cluster fits into one", async () => {
  const size = { ...SIZE_MAX };
  const one = await ClusterFolder.open(join(scratch, "one"), false);
  const two = await ClusterFolder.open(join(scratch, "two"), false);
  await using bookOne = await openPortBook(one, portRequests(size, {}));
  await using bookTwo = await openPortBook(two, portRequests(size, {}));
  assert.notEqual(bookOne.block, bookTwo.block);
  const secrets = await loadOrMakeSecrets(one);
  const plan = planCluster(size, bookOne, secrets);
  assert.equal(plan.stripes.length, SIZE_MAX.stripes);
  const all = portRequests(size, {}).map(({ name }) => bookOne.port(name));
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.every((port) => port > 23_000 && port < 32_768));
});

test("secrets are made once and only their owner may read them", async () => {
  const folder = await ClusterFolder.open(join(scratch, "secrets"), false);
  const first = await loadOrMakeSecrets(folder);
  assert.deepEqual(await loadOrMakeSecrets(folder), first);
  assert.equal((await stat(folder.path("secrets.json"))).mode & 0o777, 0o600);
  assert.equal(new Set(Object.values(first.passwords)).size, Object.keys(first.passwords).length);
  await writeFile(folder.path("secrets.json"), "{");
  await assert.rejects(loadOrMakeSecrets(folder), /damaged/);
});

test("stripes can be added to a cluster but not left out", async () => {
  const folder = await ClusterFolder.open(join(scratch, "layout"), false);
  assert.equal(await stripesOf(folder, undefined), 3);
  assert.equal(await stripesOf(folder, 4), 4);
  assert.equal(await stripesOf(folder, undefined), 4);
  await assert.rejects(stripesOf(folder, 2), /holds 4 stripes/);
});

test("sockets have short paths however long the folder's is", async () => {
  const folder = await ClusterFolder.open(join(scratch, "long".repeat(40)), false);
  assert.ok(folder.socket("control-bootstrap").length < SOCKET_PATH_CHARS_MAX);
  await folder.close();
});

test("an ephemeral folder is new and goes away", async () => {
  const parent = join(scratch, "parent");
  const folder = await ClusterFolder.open(parent, true);
  assert.ok(folder.dir.startsWith(parent));
  await folder.close();
  await assert.rejects(stat(folder.dir));
  await stat(parent);
});

test("the HAProxy file of a stripe passes HAProxy's own check", async () => {
  const servers = ["a", "b", "c"].map((letter, i) => ({
    name: `s1${letter}`,
    host: `127.5.1.${i + 1}`,
    port: 23_200 + i,
    agentPort: 23_210 + i,
  }));
  const settings = { stripe: 1, writerPort: 23_220, readerPort: 23_221, socket: join(scratch, "h.sock"), servers };
  const file = join(scratch, "haproxy.cfg");
  await writeFile(file, haproxyConfig(settings));
  const haproxy = await findOrInstallHaproxy(quietWork);
  await checkHaproxyConfig(haproxy, file);
  await writeFile(file, haproxyConfig(settings).replace("mode tcp", "mode nonsense"));
  await assert.rejects(checkHaproxyConfig(haproxy, file), /nonsense/);
});

test("the agents' file satisfies the agents' own schema", async () => {
  const folder = await ClusterFolder.open(join(scratch, "agents"), false);
  const size = { stripes: 2, proxies: 1, services: 1, checkers: 2 };
  await using book = await openPortBook(folder, portRequests(size, {}));
  const secrets = await loadOrMakeSecrets(folder);
  const mysql = await findOrInstallMysql();
  const config = agentsConfig(folder, mysql, planCluster(size, book, secrets), secrets, folder.path("mysql/template"));
  const { servers } = agentsConfigSchema.parse(config);
  assert.deepEqual(
    servers.map(({ name }) => name),
    ["s1a", "s1b", "s1c", "s2a", "s2b", "s2c"],
  );
});
