import { sleep } from "../runtime/clock.ts";

/** Waits for work to end, however it ends, and no longer than the time. @returns whether it ended */
export async function endsWithin(timeMs: number, work: Promise<unknown> | undefined): Promise<boolean> {
  const timer = new AbortController();
  const ended = Promise.resolve(work).then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([ended, sleep(timeMs, timer.signal).then(() => false)]);
  timer.abort(); // a timer left behind would keep the process alive
  return inTime;
}
