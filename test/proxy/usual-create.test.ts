import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createOrderSchema } from "../../core/schemas/orders.ts";
import { usualCreate } from "../../proxy/http/usual-create.ts";
import { parseText } from "../../runtime/edge/body.ts";

const ORDER = {
  mchid: "shop-1",
  out_trade_no: "T-1",
  description: "Tea 茶",
  amount: { total: 1999, currency: "CNY" },
  attach: "",
  notify_url: "https://shop.example/n",
  payer: { openid: "o-1" },
};
const TEXT = JSON.stringify(ORDER);

/** What the schema says; undefined: it refuses. */
function bySchema(text: string): unknown {
  try {
    return parseText(createOrderSchema, text);
  } catch {
    return undefined;
  }
}

/** Characters that break or bend a body in one place. */
const PIECES = [
  '"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  " ",
  "0",
  "-",
  ".",
  "e",
  "\\",
  "null",
  "true",
  "é",
  "💰",
  "\u0001",
  '"x":1,',
];

describe("a create read without the schema", () => {
  test("usual bodies are taken, and mean what the schema says", () => {
    const { mchid, out_trade_no: outTradeNo, description, amount } = ORDER;
    for (const order of [ORDER, { amount, description, out_trade_no: outTradeNo, mchid }]) {
      const text = JSON.stringify(order);
      assert.deepEqual(usualCreate(text), order);
      assert.deepEqual(bySchema(text), order);
    }
  });

  test("whatever else is left to the schema", () => {
    const unusual = [
      "",
      "null",
      "[]",
      `[${TEXT}]`,
      `${TEXT} `,
      TEXT.replace("{", '{"mchid":"other",'),
      TEXT.replace('"currency"', '"total":1,"currency"'),
      TEXT.replace("1999", "1999.0"),
      TEXT.replace("1999", "1e3"),
      TEXT.replace("1999", "9007199254740993"),
      TEXT.replace("1999", "0"),
      TEXT.replace("1999", '"1999"'),
      TEXT.replace("CNY", "QQQ"),
      TEXT.replace("Tea", "\\u0041"),
      TEXT.replace("Tea", "__proto__"),
      TEXT.replace('"openid":"o-1"', '"openid":"o-1","name":"x"'),
      TEXT.replace('"openid":"o-1"', ""),
      TEXT.replace("https://shop.example/n", "ftp://shop.example/n"),
      TEXT.replace("https://shop.example/n", "https://a:b@shop.example/n"),
      TEXT.replace('"attach":""', `"attach":"${"a".repeat(129)}"`),
      TEXT.replace("Tea 茶", "t".repeat(128)),
      TEXT.replace("Tea 茶", ""),
      TEXT.replace('"attach":""', '"time_expire":"2030-01-01T00:00:00Z"'),
      TEXT.replace('"attach":""', '"colour":""'),
    ];
    for (const text of unusual) assert.equal(usualCreate(text), undefined, text);
  });

  test("nothing is taken that the schema refuses or reads otherwise, wherever a body is bent", () => {
    let taken = 0;
    for (const piece of PIECES) {
      for (let at = 0; at <= TEXT.length; at++) {
        for (const cut of [0, 1, 7]) {
          const text = TEXT.slice(0, at) + piece + TEXT.slice(at + cut);
          const order = usualCreate(text);
          if (order === undefined) continue;
          taken += 1;
          assert.deepEqual(order, bySchema(text), text);
        }
      }
    }
    assert.ok(taken > 100, `${taken} of them are still creates`);
  });
});
