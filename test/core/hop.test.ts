import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  answerFrame,
  BadFrame,
  callFrame,
  type Frame,
  FrameReader,
  HOP_FRAME_BYTES_MAX,
  HOP_HEADERS,
  hopTarget,
  parseAnswerHead,
  parseCallHead,
} from "../../core/hop.ts";

const id = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const text = fc.string({ unit: "grapheme", maxLength: 300 });
const token = fc.stringMatching(/^[a-z0-9-]{1,20}$/);
const headers = fc.dictionary(fc.constantFrom(...HOP_HEADERS), token, { noNullPrototype: true });

/** Cuts bytes at the given places, which wrap around. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

describe("frames of the hop", () => {
  test("calls and answers come through whole, however their bytes are cut", () => {
    const frames = fc.array(fc.record({ id, headers, body: text }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(frames, fc.array(fc.nat(5_000), { maxLength: 20 }), (some, places) => {
        const sent = some.map((f) => callFrame(f.id, "POST", "/orders", f.headers, f.body));
        const reader = new FrameReader();
        const got: Frame[] = cut(Buffer.concat(sent), places).flatMap((chunk) => reader.push(chunk));
        assert.equal(got.length, some.length);
        for (const [i, frame] of got.entries()) {
          assert.equal(frame.id, some[i]?.id);
          assert.equal(frame.body.toString("utf8"), some[i]?.body);
          assert.deepEqual(parseCallHead(frame.head), { method: "POST", path: "/orders", headers: some[i]?.headers });
        }
      }),
    );
    fc.assert(
      fc.property(
        id,
        fc.integer({ min: 200, max: 599 }),
        fc.dictionary(token, token, { noNullPrototype: true }),
        (n, status, extra) => {
          const [frame] = new FrameReader().push(answerFrame(n, status, extra, "{}"));
          assert.deepEqual(parseAnswerHead(frame?.head ?? ""), { status, headers: extra });
        },
      ),
    );
  });

  test("a frame that is too long or shorter than its head ends the conversation", () => {
    const long = Buffer.alloc(4);
    long.writeUInt32BE(HOP_FRAME_BYTES_MAX + 1);
    assert.throws(() => new FrameReader().push(long), BadFrame);
    assert.throws(() => new FrameReader().push(Buffer.from("HTTP/1.1 400 Bad Request\r\n")), BadFrame);
    const lying = callFrame(1, "GET", "/orders", {}, "");
    lying.writeUInt16BE(9_999, 8);
    assert.throws(() => new FrameReader().push(lying), BadFrame);
  });

  test("it carries what merchants ask most, and nothing else", () => {
    const number = "1000070101010000000000000000";
    assert.deepEqual(hopTarget("POST", "/orders"), { shape: "POST /orders", number: "", query: "" });
    assert.deepEqual(hopTarget("GET", `/orders/${number}?read=replica`), {
      shape: "GET /orders/:",
      number,
      query: "read=replica",
    });
    assert.equal(hopTarget("POST", `/orders/${number}/pay`)?.shape, "POST /orders/:/pay");
    assert.equal(hopTarget("POST", `/refunds/${number}/result`)?.number, number);
    for (const path of ["/lookup?mchid=m", `/orders/${number}/history`, "/sequence-blocks", "/", ""]) {
      assert.equal(hopTarget("GET", path), undefined, path);
    }
    assert.equal(hopTarget("DELETE", "/orders"), undefined);
  });
});
