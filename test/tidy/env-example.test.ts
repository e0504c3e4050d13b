import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT, sourceFiles } from "./source-files.ts";

const NAME = /^\s+([A-Z][A-Z0-9_]{2,}):/gm;
const READ = /\breadEnv\("([A-Z0-9_]+)"\)/g;
/** Set by the system, not by whoever runs a process of ours. */
const SYSTEM = new Set(["PATH", "XDG_CACHE_HOME"]);

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((m) => m[1] ?? "");
}

test(".env.example names every variable that a process reads, and no other", () => {
  const files = sourceFiles().filter((f) => f.part !== "test" && f.part !== "bench");
  const read = new Set([
    ...files.filter((f) => /\bloadConfig\(/.test(f.text)).flatMap((f) => namesIn(f.text, NAME)),
    ...files.flatMap((f) => namesIn(f.text, READ)),
  ]);
  const example = readFileSync(join(ROOT, ".env.example"), "utf8");
  const listed = new Set([...example.matchAll(/^#? ?([A-Z][A-Z0-9_]{2,})=/gm)].map((m) => m[1] ?? ""));
  const wanted = [...read].filter((name) => !SYSTEM.has(name)).sort();
  assert.deepEqual([...listed].sort(), wanted);
});
