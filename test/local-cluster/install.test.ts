import assert from "node:assert/strict";
import { test } from "node:test";
import { distributionMirrors, parseAptSources, parseDistribution } from "../../local-cluster/install/apt-sources.ts";
import { findOrInstallMysql } from "../../local-cluster/install/mysql.ts";
import { compareVersions, parseMysqlVersion } from "../../local-cluster/install/mysql-version.ts";
import { unwantedPackage } from "../../local-cluster/install/mysql-trim.ts";
import { ProcessLock } from "../../local-cluster/install/process-lock.ts";
import { runCommand } from "../../local-cluster/install/run-command.ts";

const DEBIAN = 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n';
const UBUNTU = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n";

const DEB822 = `Types: deb deb-src
# a comment between the fields
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
  contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://disabled.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.example/debian
Suites: bookworm
Components: main
`;

test("deb822 sources are parsed: comments, continued fields, several suites, disabled and source-only stanzas", () => {
  assert.deepEqual(parseAptSources("debian.sources", DEB822), [
    {
      uri: "http://mirror.example/debian",
      suites: ["bookworm", "bookworm-updates"],
      components: ["main", "contrib"],
    },
    { uri: "http://mirror.example/debian-security", suites: ["bookworm-security"], components: ["main"] },
  ]);
});

test("one-line sources are parsed: options in brackets, comments, deb-src left out", () => {
  const text = [
    "# deb http://old.example/debian bookworm main",
    "deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian bookworm main contrib # ours",
    "deb-src https://mirror.example/debian bookworm main",
    "deb cdrom:[Debian_12]/ bookworm main",
  ].join("\n");
  assert.deepEqual(parseAptSources("sources.list", text), [
    { uri: "https://mirror.example/debian", suites: ["bookworm"], components: ["main", "contrib"] },
    { uri: "cdrom:[Debian_12]/", suites: ["bookworm"], components: ["main"] },
  ]);
});

test("only the distribution's own mirrors are used: no security mirror, no other vendor, no cdrom", () => {
  const debian = parseDistribution(DEBIAN);
  assert.ok(debian);
  const sources = parseAptSources(
    "all.list",
    [
      "deb http://vendor.example/node_20.x nodistro main",
      "deb https://vendor.example/linux/debian bookworm stable",
      "deb http://cache.example/mirror bookworm main",
      "deb http://mirror.example/debian-security bookworm-security main",
      "deb http://mirror.example/debian bookworm-updates main",
      "deb http://mirror.example/debian bookworm main",
      "deb cdrom:[Debian_12]/ bookworm main",
    ].join("\n"),
  );
  assert.deepEqual(distributionMirrors(sources, debian), [
    "http://mirror.example/debian",
    "http://cache.example/mirror",
  ]);
});

test("Debian takes MySQL from sid, Ubuntu from its devel suite, other systems from nowhere", () => {
  assert.equal(parseDistribution(DEBIAN)?.suite, "sid");
  assert.equal(parseDistribution(UBUNTU)?.suite, "devel");
  assert.equal(parseDistribution(UBUNTU)?.id, "ubuntu");
  assert.equal(parseDistribution("ID=fedora\nVERSION_ID=44\n"), undefined);
  assert.equal(parseDistribution(""), undefined);
});

test("MariaDB, old MySQL and programs that are no MySQL are refused, each in words", () => {
  assert.equal(parseMysqlVersion("/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))").text, "9.7.4");
  assert.equal(parseMysqlVersion("mysqld  Ver 8.4.0 for Linux").text, "8.4.0");
  assert.throws(() => parseMysqlVersion("mariadbd  Ver 10.11.6-MariaDB for debian-linux-gnu"), /MariaDB/);
  assert.throws(() => parseMysqlVersion("mysqld  Ver 8.0.45 for Linux"), /8\.0\.45; 8\.4 or newer/);
  assert.throws(() => parseMysqlVersion("hello"), /does not say/);
  assert.ok(compareVersions({ major: 9, minor: 10 }, { major: 9, minor: 9 }) > 0);
});

test("script packages are left out of the prefix, libraries are not", () => {
  assert.ok(unwantedPackage("perl-base"));
  assert.ok(unwantedPackage("libperl5.42"));
  assert.ok(!unwantedPackage("libc6"));
  assert.ok(!unwantedPackage("mysql-server-core"));
});

test("the MySQL that is found runs: server, client and binlog reader", async () => {
  const mysql = await findOrInstallMysql();
  for (const program of [mysql.mysqld, mysql.mysql, mysql.mysqlbinlog]) {
    assert.match(await runCommand([...program, "--version"], { timeoutMs: 20_000 }), /Ver /);
  }
});

test("a lock has one holder and is free again when it is given back", async () => {
  const name = `test ${process.pid}`;
  const first = await ProcessLock.tryAcquire(name);
  assert.ok(first);
  assert.equal(await ProcessLock.tryAcquire(name), undefined);
  await assert.rejects(
    ProcessLock.acquire(name, 150, new AbortController().signal, () => {}),
    /held the lock/,
  );
  await first[Symbol.asyncDispose]();
  const second = await ProcessLock.tryAcquire(name);
  assert.ok(second);
  await second[Symbol.asyncDispose]();
});

test("a command that fails is told with what it said, one that hangs is ended", async () => {
  await assert.rejects(runCommand(["sh", "-c", "echo no such luck >&2; exit 3"], { timeoutMs: 5_000 }), /no such luck/);
  await assert.rejects(runCommand(["sleep", "60"], { timeoutMs: 100 }), /did not end within 100 ms/);
});
