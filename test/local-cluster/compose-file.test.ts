import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterSpecs } from "../../local-cluster/containers/cluster-specs.ts";
import { composeFile } from "../../local-cluster/containers/compose-file.ts";
import { tripleServerOptions } from "../../local-cluster/mysqld.ts";
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

test("YAML quotes what would be read as something else", () => {
  const document = {
    a: new Anchored("a", { yes: "yes" }),
    b: { "<<": "*a", m: 1, s: "1", list: ["x y", true] },
    e: {},
  };
  assert.equal(yaml(document), 'a: &a\n  "yes": "yes"\nb:\n  <<: *a\n  m: 1\n  s: "1"\n  list: ["x y", true]\ne: {}\n');
});
