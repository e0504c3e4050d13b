import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { clusterSpecs } from "../../local-cluster/containers/cluster-specs.ts";
import { composeFile } from "../../local-cluster/containers/compose-file.ts";
import { checkHaproxyConfig, entryConfig, haproxyConfig } from "../../local-cluster/haproxy.ts";
import { findOrInstallHaproxy } from "../../local-cluster/install/haproxy.ts";
import { quietWork } from "../../local-cluster/install/work.ts";
import { tripleServerOptions } from "../../local-cluster/mysqld.ts";
import { loadOpsConfig } from "../../ops/config.ts";
import { readEnv } from "../../runtime/env.ts";
import { Anchored, yaml } from "../../local-cluster/containers/yaml.ts";
import { PRISTINE_WANTED } from "../../storage-agent/data-directory.ts";
import { ROOT } from "../tidy/source-files.ts";

test("docker-compose.yml is what `npm run compose` writes", () => {
  assert.equal(readFileSync(join(ROOT, "docker-compose.yml"), "utf8"), composeFile(), "run `npm run compose`");
});

test("only the entry and ops are published, at loopback", () => {
  const published = clusterSpecs().flatMap(({ name, publish = [] }) => publish.map((ports) => `${name} ${ports}`));
  assert.deepEqual(published, ["ops 127.0.0.1:${OPS_PORT:-8090}:8090", "entry 127.0.0.1:${PORT:-8080}:8080"]);
});

test("databases of the triples and their agents are on the storage network alone; no container is root but the set-up", () => {
  for (const { name, networks, user } of clusterSpecs()) {
    if (/^s\d[abc]/.test(name)) assert.deepEqual(networks, ["storage"], name);
    assert.equal(user?.startsWith("0") === true, name === "set-up", name);
  }
});

test("a server in a container starts with the settings that one on a machine has", () => {
  const spec = clusterSpecs().find(({ name }) => name === "s2b");
  const place = { name: "s2b", serverId: 202, address: "s2b", port: 3306, adminPort: 33_062, errorLog: null };
  const there = { dataDir: "/var/lib/mysql", socket: "/var/run/mysqld/mysqld.sock" };
  const listen = { addresses: "*", admin: "s2b" };
  assert.deepEqual(spec?.command, ["mysqld", ...tripleServerOptions({ ...place, ...there, listen })]);
});

test("no secret is in the compose file: passwords are named as files", () => {
  const passwords = clusterSpecs().flatMap(({ env = {} }) =>
    Object.entries(env).filter(([k]) => /PASSWORD|TOKEN/.test(k)),
  );
  assert.ok(passwords.length > 10);
  for (const [name, value] of passwords) {
    assert.match(name, /_FILE$/);
    assert.match(value, /^\/run\/secrets\//);
  }
});

test("the wish of an agent for pristine data has the name that its server's start looks for", () => {
  const script = readFileSync(join(ROOT, "local-cluster/containers/start-mysql.sh"), "utf8");
  assert.match(script, new RegExp(`/${PRISTINE_WANTED}\n`));
});

test("the HAProxy files of containers pass HAProxy's own check, although no name in them is known yet", async () => {
  const folder = await mkdtemp(join(tmpdir(), "haproxy-"));
  const file = join(folder, "haproxy.cfg");
  const socket = join(folder, "h.sock");
  const haproxy = await findOrInstallHaproxy(quietWork);
  const servers = ["s1a", "s1b"].map((name) => ({
    name,
    host: name,
    port: 3306,
    agentHost: `${name}-agent`,
    agentPort: 8070,
  }));
  const listen = { listenHost: "*", writerPort: 23_306, readerPort: 23_307, alivePort: 23_404 };
  const entry = entryConfig({ host: "*", port: 23_080, socket }, [{ name: "proxy-1", host: "proxy-1", port: 8080 }]);
  try {
    for (const text of [haproxyConfig({ stripe: 1, socket, servers, ...listen }), entry]) {
      await writeFile(file, text);
      await checkHaproxyConfig(haproxy, file);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("a setting may be the content of a file, and a file that is not there is no empty setting", async () => {
  const folder = await mkdtemp(join(tmpdir(), "settings-"));
  try {
    await writeFile(join(folder, "secret"), "from a file\n");
    process.env.A_SETTING_FILE = join(folder, "secret");
    assert.equal(readEnv("A_SETTING"), "from a file");
    process.env.A_SETTING_FILE = join(folder, "missing");
    assert.throws(() => readEnv("A_SETTING"), /ENOENT/);
  } finally {
    delete process.env.A_SETTING_FILE;
    await rm(folder, { recursive: true, force: true });
  }
});

test("ops listens beyond loopback only where somebody says that its network is trusted", () => {
  process.env.HOST = "0.0.0.0";
  try {
    assert.throws(loadOpsConfig, /loopback/);
    process.env.OPS_NETWORK_TRUSTED = "1";
    assert.equal(loadOpsConfig().host, "0.0.0.0");
  } finally {
    delete process.env.HOST;
    delete process.env.OPS_NETWORK_TRUSTED;
  }
});

test("YAML quotes what would be read as something else", () => {
  const document = {
    a: new Anchored("a", { yes: "yes" }),
    b: { "<<": "*a", m: 1, s: "1", list: ["x y", true] },
    e: {},
  };
  assert.equal(yaml(document), 'a: &a\n  "yes": "yes"\nb:\n  <<: *a\n  m: 1\n  s: "1"\n  list: ["x y", true]\ne: {}\n');
});
