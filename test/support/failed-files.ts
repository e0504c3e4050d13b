// A reporter for the runner itself: the files in which something failed, one a line.
import type { TestEvent } from "node:test/reporters";

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Set<string>();
  for await (const event of events) {
    if (event.type === "test:fail" && event.data.file !== undefined) files.add(event.data.file);
  }
  yield [...files].map((file) => `${file}\n`).join("");
}
