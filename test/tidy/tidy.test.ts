import assert from "node:assert/strict";
import { test } from "node:test";
import { type SourceFile, sourceFiles } from "./source-files.ts";

interface Ban {
  readonly title: string;
  readonly pattern: RegExp;
  readonly instead: string;
  /** Where it is allowed. */
  readonly except: (file: SourceFile) => boolean;
}

const inTests = (file: SourceFile): boolean => file.part === "test" || file.part === "bench";
const never = (): boolean => false;

const BANS: readonly Ban[] = [
  {
    title: "process.env is read in runtime/env.ts only",
    pattern: /\bprocess\.env\b/,
    instead: "readEnv, loadConfig or childEnv of runtime/env.ts",
    except: (f) => f.path === "runtime/env.ts" || inTests(f),
  },
  {
    title: "clocks are read in runtime/clock.ts only",
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    instead: "wallNowMs, wallNowIso or monotonicMs of runtime/clock.ts",
    except: (f) => f.path === "runtime/clock.ts" || inTests(f),
  },
  {
    title: "Math.random is used nowhere",
    pattern: /\bMath\.random\(/,
    instead: "node:crypto, or a seeded generator",
    except: never,
  },
  {
    title: "console is used nowhere",
    pattern: /\bconsole\.\w+\(/,
    instead: "the logger, or process.stdout in a command-line entry",
    except: never,
  },
  {
    title: "no test is narrowed and nothing is left to mend",
    pattern: /\b(it|test|describe)\.only\(|\bFIXME\b|\bXXX\b/,
    instead: "finish it",
    except: never,
  },
  {
    title: "SQL is written in db folders only",
    pattern: /["'`]\s*(SELECT [^"'`]* FROM|INSERT (IGNORE )?INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)\b/,
    instead: "one operation per file under a db/ folder",
    except: (f) => f.path.includes("/db/") || f.part === "migrations" || inTests(f),
  },
];

for (const ban of BANS) {
  test(ban.title, () => {
    const found = sourceFiles()
      .filter((file) => !file.path.startsWith("test/tidy/") && !ban.except(file))
      .flatMap((file) =>
        file.text
          .split("\n")
          .map((line, i) => ({ line, where: `${file.path}:${i + 1}` }))
          .filter(({ line }) => ban.pattern.test(line) && !/^\s*(\/\/|\*|\/\*)/.test(line))
          .map(({ where }) => where),
      );
    assert.deepEqual(found, [], `use ${ban.instead}`);
  });
}

const FILE_LINES_MAX = 500;
const FILE_LINES_P90 = 250;
const MAIN_LINES_MAX = 40;

test("files stay small: none over 500 lines, nine of ten within 250", () => {
  const sizes = sourceFiles().map((f) => ({ path: f.path, lines: f.text.split("\n").length }));
  assert.deepEqual(
    sizes.filter((s) => s.lines > FILE_LINES_MAX),
    [],
  );
  const sorted = sizes.map((s) => s.lines).sort((a, b) => a - b);
  assert.ok((sorted[Math.floor(sorted.length * 0.9)] ?? 0) <= FILE_LINES_P90);
});

test("entries are thin: a main.ts has at most 40 lines", () => {
  const fat = sourceFiles()
    .filter((f) => f.path.endsWith("/main.ts") && f.text.split("\n").length > MAIN_LINES_MAX + 1)
    .map((f) => f.path);
  assert.deepEqual(fat, []);
});

const FUNCTION_LINES_MAX = 70;
const FUNCTION_START =
  /^(\s*)(?:export )?(?:async )?(?:function\b|(?:(?:static|private|async|get|override) )*#?\w+\([^)]*\).*\{$)/;

test("functions have at most 70 lines", () => {
  const long = sourceFiles()
    .filter((f) => f.part !== "test")
    .flatMap((file) => {
      const lines = file.text.split("\n");
      return lines.flatMap((line, start) => {
        const indent = FUNCTION_START.exec(line)?.[1];
        if (indent === undefined || /^\s*(if|for|while|switch|return|else|catch)\b/.test(line)) return [];
        const length = lines.slice(start + 1).findIndex((l) => l.startsWith(`${indent}}`)) + 2;
        return length > FUNCTION_LINES_MAX ? [`${file.path}:${start + 1} has ${length} lines`] : [];
      });
    });
  assert.deepEqual(long, []);
});
