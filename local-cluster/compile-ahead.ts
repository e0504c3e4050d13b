// Run as a program: loads modules so that their compiled code is in the cache when a process that stays needs them. A
// process that compiles TypeScript itself keeps the compiler, some 25 MB, for as long as it lives.
import { flushCompileCache } from "node:module";

await Promise.all(process.argv.slice(2).map((path) => import(path)));
flushCompileCache();
