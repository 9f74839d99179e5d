import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMarker, parseMarker, stripMarkers } from "../../src/ledger/marker.ts";

const text = fc.string({ unit: "binary" });

describe("a marker", () => {
  it("says what was put into it, whatever that is, and holds no end but its own", () => {
    fc.assert(
      fc.property(text, text, text, (id, head, trigger) => {
        const marker = { kind: "finding", id, severity: "low", head, trigger } as const;
        const line = formatMarker(marker);
        expect(line).toMatch(/^<!-- [^<>\n]* -->$/);
        expect(line.slice(4, -3)).not.toMatch(/--/);
        expect(parseMarker(`Some text.\n\n${line}`)).toEqual(marker);
        expect(parseMarker(`${line}\r\n `)).toEqual(marker);
      }),
    );
  });

  it("can be read by people", () => {
    expect(formatMarker({ kind: "review", head: "abc", trigger: "event" })).toBe(
      '<!-- hunkwise:review v1 {"head":"abc","trigger":"event"} -->',
    );
  });

  it.each([
    [{ kind: "review", head: "abc", trigger: "event#7@main" }, '{"head":"abc","trigger":"event#7@main"}'],
    [
      { kind: "finding", id: "f1-2", severity: "high", head: "abc", trigger: "comment:5" },
      '{"id":"f1\\u002d2","severity":"high","head":"abc","trigger":"comment:5"}',
    ],
    [{ kind: "summary", head: "abc", trigger: "event#7@main" }, '{"head":"abc","trigger":"event#7@main"}'],
  ] as const)("is written as this version writes it, and is read for ever: %j", (marker, data) => {
    const line = `<!-- hunkwise:${marker.kind} v1 ${data} -->`;

    expect(formatMarker(marker)).toBe(line);
    expect(parseMarker(line)).toEqual(marker);
  });

  const marker = formatMarker({ kind: "review", head: "h", trigger: "t" });
  it.each([
    ["above the last line", `${marker}\n\nThe end.`],
    ["within a line", `See ${marker}`],
    ["before something", `${marker} x`],
    ["indented", `text\n  ${marker}`],
    ["quoted", `> ${marker}`],
    ["of another version", marker.replace("v1", "v2")],
    ["of an unknown kind", marker.replace("review", "approval")],
    ["with too little", '<!-- hunkwise:review v1 {"head":"h"} -->'],
    ["with too much", '<!-- hunkwise:review v1 {"head":"h","trigger":"t","admin":true} -->'],
    ["that names its kind twice", '<!-- hunkwise:summary v2 {"kind":"review","head":"h","trigger":"t"} -->'],
    ["of other types", '<!-- hunkwise:review v1 {"head":1,"trigger":"t"} -->'],
    ["that is no JSON", "<!-- hunkwise:review v1 {head} -->"],
    ["that is missing", ""],
  ])("%s is none", (_name, body) => {
    expect(parseMarker(body)).toBeUndefined();
  });
});

describe("a text that is stripped", () => {
  it("holds no marker, and is not changed a second time", () => {
    const pieces = fc.array(
      fc.constantFrom("<!--", "<!-", "-", " ", "\n", "hunkwise:", "HUNKWISE:", "review v1 {}", "-->", "x"),
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        const stripped = stripMarkers(parts.join(""));
        expect(stripped).not.toMatch(/<!--\s*hunkwise:/i);
        expect(stripMarkers(stripped)).toBe(stripped);
      }),
    );
  });

  it("keeps all other comments", () => {
    expect(stripMarkers("<!-- TODO --> a <!-- hunkwise:x -->")).toBe(
      "<!-- TODO --> a &lt;!-- hunkwise:x -->",
    );
  });
});
