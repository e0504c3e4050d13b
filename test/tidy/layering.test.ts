import assert from "node:assert/strict";
import { test } from "node:test";
import { sourceFiles } from "./source-files.ts";

const SERVICES = ["proxy", "stripe-service", "storage-agent", "health-checker", "ops"];
/** What each part may import besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  runtime: ["core"],
  migrations: ["core", "runtime"],
  ...Object.fromEntries(SERVICES.map((s) => [s, ["core", "runtime"]])),
  "local-cluster": ["core", "runtime", "migrations", ...SERVICES],
  bench: ["core", "runtime", "migrations", "local-cluster", ...SERVICES],
  test: ["core", "runtime", "migrations", "local-cluster", "bench", ...SERVICES],
};

test("parts import only what their layer allows, and services never import one another", () => {
  const wrong = sourceFiles().flatMap((file) =>
    file.imports
      .map((target) => ({ target, part: target.split("/")[0] ?? "" }))
      .filter(({ part }) => part !== file.part && !(MAY_IMPORT[file.part] ?? []).includes(part))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
  assert.deepEqual(wrong, [], "core ← runtime ← services ← local-cluster ← {test, bench}; services meet over HTTP");
});

test("there is no import cycle", () => {
  const files = new Map(sourceFiles().map((f) => [f.path, f.imports]));
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    assert.ok(!trail.includes(path), `import cycle: ${[...trail.slice(trail.indexOf(path)), path].join(" → ")}`);
    if (done.has(path)) return;
    for (const target of files.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of files.keys()) visit(path, []);
});
