import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commentText, commentTitle } from "../../src/core/ledger/entry.ts";
import { formatMarker, type Marker, parseMarker, stripMarkers } from "../../src/core/ledger/marker.ts";
import { anyState } from "../pull/ledger/any-state.ts";
import { FUZZ_TIMEOUT_MS, fuzz, textOf } from "../support/fuzz.ts";

const fields = { head: fc.string({ unit: "binary" }), trigger: fc.string({ unit: "binary" }) };
const marker = fc.oneof(
  fc.record({ kind: fc.constant("review"), ...fields }),
  fc.record({ kind: fc.constant("summary"), ...fields, state: anyState }),
  fc.record({ kind: fc.constant("answer"), comment: fc.integer() }),
) as fc.Arbitrary<Marker>;

const pieces = textOf([
  ...[
    "<!-- ",
    "<!--",
    " -->",
    "-->",
    "--",
    "hunkwise:",
    "HUNKWISE:",
    "hunkwıse:",
    "hunkwise\u200b:",
    "\u202ehunkwise:",
  ],
  ...[
    "review",
    "finding",
    "summary",
    "fixed",
    "dismissed",
    "answer",
    "constructor",
    "__proto__",
    " v1 ",
    " v2 ",
    " v9999 ",
    "v0",
  ],
  ...[
    "{",
    "}",
    "{}",
    '{"head":"h","trigger":"t"}',
    '{"comment":1}',
    '{"head":1e999}',
    '"',
    ":",
    ",",
    "[",
    "]",
    "null",
    "\\u003c",
  ],
  ...[
    '{"head":"h","trigger":"t","state":{"reviewed":null,"posted":[],"carried":[],"summary":"","paused":null}}',
  ],
  ...[
    "\n",
    "\r\n",
    " ",
    "\t",
    "\0",
    "é",
    "\ud800",
    "**🔴 High: x**",
    "<details><summary>How this was checked</summary>",
  ],
]);

/** A body as we write it, into which something was put at some place. */
const broken = fc.tuple(pieces, marker, pieces, fc.nat(), fc.nat(20)).map(([text, one, put, at, cut]) => {
  const body = `${text}\n\n${formatMarker(one)}`;
  const place = at % (body.length + 1);
  return body.slice(0, place) + put + body.slice(place + cut);
});

const isWhole = (one: Marker) => parseMarker(formatMarker(one));

describe("the marker parser", () => {
  it(
    "The marker parser reads a whole marker or none, in time proportional to the text",
    () => {
      fuzz({
        values: fc.oneof(pieces, broken),
        sizeOf: (text) => text.length,
        run: (text) => ({
          read: parseMarker(text),
          stripped: stripMarkers(text),
          title: commentTitle(text),
          said: commentText(text),
        }),
        reaches: ({ read, stripped }) => read !== undefined && stripped.length > 0,
        check({ read, stripped, said }, text) {
          if (read) expect(isWhole(read)).toEqual(read);
          if (read)
            expect(text.trimEnd().split("\n").at(-1)).toMatch(/^<!-- hunkwise:[a-z]+ v\d+ \{.*\} -->$/s);
          expect(parseMarker(stripped)).toBeUndefined();
          expect(stripMarkers(stripped)).toBe(stripped);
          expect(said.length).toBeLessThanOrEqual(text.length);
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );
});
