import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMarker, type Marker, parseMarker, stripMarkers } from "../../../src/core/ledger/marker.ts";
import { emptyState, type LedgerState } from "../../../src/core/ledger/state.ts";
import { renderComment } from "../../../src/pull/publish/render-comment.ts";
import { anyState } from "../../pull/ledger/any-state.ts";
import { sampleFinding } from "../../report/sample-result.ts";

const text = fc.string({ unit: "binary" });
const id = fc.integer({ min: 1, max: 2 ** 52 });
const key = { head: text, trigger: text };
const mark: fc.Arbitrary<Marker> = fc.oneof(
  fc.record({ kind: fc.constant("review"), ...key }),
  fc.record({
    ...{ kind: fc.constant("finding"), id: text, severity: fc.constantFrom("critical", "low"), ...key },
    ...{ category: fc.constantFrom("security", null), symbol: fc.option(text), code: fc.option(text) },
    source: fc.option(text),
    files: fc.array(text, { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant("summary"), ...key, state: anyState }),
  fc.record({ kind: fc.constant("fixed"), comment: id, head: text }),
  fc.record(
    { kind: fc.constant("dismissed"), comment: id, by: text, reason: text },
    { requiredKeys: ["kind", "comment", "by"] },
  ),
  fc.record({ kind: fc.constant("acted"), id: text }),
  fc.record({ kind: fc.constant("answer"), comment: id }),
  fc.record({ kind: fc.constant("suggested"), comment: id, part: fc.nat() }),
  fc.record({
    ...{ kind: fc.constant("check"), pull: id, base: text, turn: fc.nat() },
    own: fc.option(
      fc.record({
        conclusion: fc.constantFrom("success", "neutral", "failure", "skipped", "cancelled"),
        title: text,
      }),
    ),
  }),
) as fc.Arbitrary<Marker>;

const state: LedgerState = {
  reviewed: { unit: "change", hashes: ["abcABCDEFGHIJ-_", "abc0123456789-0"] },
  posted: ["f1-2"],
  carried: [],
  decided: [{ comment: 9, how: "resolved", by: "ann", after: 11 }],
  unplaced: { reports: [{ number: 1, text: "high, a.ts:1: b" }], hashes: ["abcABCDEFGHIJ-_"] },
  next: 2,
  summary: "Adds a <cart>.",
  paused: { by: "octocat", at: "2026-01-02T03:04:05Z" },
};

describe("a marker", () => {
  it("A marker says what was put into it, whatever that is, and holds no end but its own", () => {
    fc.assert(
      fc.property(mark, (marker) => {
        const line = formatMarker(marker);
        expect(line).toMatch(/^<!-- [^<>\n]* -->$/);
        expect(line.slice(4, -3)).not.toMatch(/--|@/);
        expect(parseMarker(`Some text.\n\n${line}`)).toEqual(marker);
        expect(parseMarker(`${line}\r\n `)).toEqual(marker);
      }),
    );
  });

  it("A marker of a finding has the name of a rule only if the finding is of one", () => {
    const mark: Extract<Marker, { kind: "finding" }> = {
      ...{ kind: "finding" as const, id: "f1", severity: "high" as const, head: "h", trigger: "t" },
      ...{ category: null, symbol: null, code: null, source: "model", files: [] },
    };
    expect(formatMarker(mark)).not.toContain("rule");
    expect(parseMarker(formatMarker({ ...mark, rule: "no-raw-sql" }))).toEqual({
      ...mark,
      rule: "no-raw-sql",
    });
  });

  it("A marker can be read by people", () => {
    expect(formatMarker({ kind: "review", head: "abc", trigger: "event" })).toBe(
      '<!-- hunkwise:review v1 {"head":"abc","trigger":"event"} -->',
    );
  });

  const finding = {
    kind: "finding",
    id: "f1-2",
    severity: "high",
    head: "abc",
    trigger: "comment:5",
  } as const;
  it.each<[Marker, string, string]>([
    [
      { kind: "review", head: "abc", trigger: "event#7@main" },
      "v1",
      '{"head":"abc","trigger":"event#7\\u0040main"}',
    ],
    [
      {
        ...finding,
        category: "api",
        symbol: "Cart.total",
        code: "0a_-",
        source: "model",
        files: ["src/a.ts"],
      },
      "v3",
      '{"id":"f1\\u002d2","severity":"high","head":"abc","trigger":"comment:5","category":"api","symbol":"Cart.total","code":"0a_\\u002d","source":"model","files":["src/a.ts"]}',
    ],
    [
      { kind: "summary", head: "abc", trigger: "event#7@main", state },
      "v3",
      '{"head":"abc","trigger":"event#7\\u0040main","state":{"reviewed":{"unit":"change","hashes":"abcABCDEFGHIJ._abc0123456789.0"},"posted":["f1\\u002d2"],"carried":[],"decided":[{"comment":9,"how":"resolved","by":"ann","after":11}],"unplaced":{"reports":[{"number":1,"text":"high, a.ts:1: b"}],"hashes":"abcABCDEFGHIJ._"},"next":2,"summary":"Adds a \\u003ccart\\u003e.","paused":{"by":"octocat","at":"2026\\u002d01\\u002d02T03:04:05Z"}}}',
    ],
    [{ kind: "fixed", comment: 5, head: "abc" }, "v1", '{"comment":5,"head":"abc"}'],
    [{ kind: "dismissed", comment: 5, by: "octocat" }, "v1", '{"comment":5,"by":"octocat"}'],
    [
      { kind: "dismissed", comment: 5, by: "octocat", reason: "It is wrong" },
      "v1",
      '{"comment":5,"by":"octocat","reason":"It is wrong"}',
    ],
    [{ kind: "acted", id: "AB_c" }, "v1", '{"id":"AB_c"}'],
    [{ kind: "answer", comment: 5 }, "v1", '{"comment":5}'],
    [{ kind: "suggested", comment: 5, part: 1 }, "v1", '{"comment":5,"part":1}'],
    [
      { kind: "check", pull: 7, base: "main", own: { conclusion: "neutral", title: "One" }, turn: 2 },
      "v2",
      '{"pull":7,"base":"main","own":{"conclusion":"neutral","title":"One"},"turn":2}',
    ],
  ])("A marker is written as this version writes it, and is read for ever: %j", (marker, version, data) => {
    const line = `<!-- hunkwise:${marker.kind} ${version} ${data} -->`;

    expect(formatMarker(marker)).toBe(line);
    expect(parseMarker(line)).toEqual(marker);
  });

  it("A marker of a summary of another version remembers nothing", () => {
    expect(parseMarker('<!-- hunkwise:summary v1 {"head":"h","trigger":"t"} -->')).toEqual({
      ...{ kind: "summary", head: "h", trigger: "t", state: emptyState },
    });
  });

  const written = (of: LedgerState) => formatMarker({ kind: "summary", head: "h", trigger: "t", state: of });
  it.each([
    ["is of a later version", written(state).replace("v3", "v4")],
    ["is of a much later version", written(state).replace("v3", "v1000")],
    ["is missing", '<!-- hunkwise:summary v2 {"head":"h","trigger":"t"} -->'],
    ["lost a part", written(state).replace('"posted":["f1\\u002d2"],', "")],
    ["has a part too many", written(state).replace('"carried"', '"more":1,"carried"')],
    ["has half a hash", written(state).replace("abcA", "A")],
    ["has a finding that is none", written(state).replace('"carried":[]', '"carried":[{"finding":{}}]')],
    ["is nothing", '<!-- hunkwise:summary v2 {"head":"h","trigger":"t","state":null} -->'],
  ])("A marker whose state %s is a summary that remembers nothing", (_what, line) => {
    expect(parseMarker(line)).toEqual({ kind: "summary", head: "h", trigger: "t", state: emptyState });
  });

  it("A marker holds 2,000 hashes in 30 kB", () => {
    const hashes = Array.from({ length: 2_000 }, (_, at) => `a-b${at.toString().padStart(12, "-")}`);
    const line = written({ ...emptyState, reviewed: { unit: "change", hashes } });

    expect(line.length).toBeLessThan(30_300);
    expect(parseMarker(line)).toMatchObject({ state: { reviewed: { hashes } } });
  });

  const marker = formatMarker({ kind: "review", head: "h", trigger: "t" });
  it.each([
    ["above the last line", `${marker}\n\nThe end.`],
    ["within a line", `See ${marker}`],
    ["before something", `${marker} x`],
    ["indented", `text\n  ${marker}`],
    ["quoted", `> ${marker}`],
    ["of another version", marker.replace("v1", "v2")],
    ["of version 0", marker.replace("v1", "v0")],
    ["of an unknown kind", marker.replace("review", "approval")],
    ["of a kind that every object has", marker.replace("review", "constructor")],
    ["with too little", '<!-- hunkwise:review v1 {"head":"h"} -->'],
    ["with too much", '<!-- hunkwise:review v1 {"head":"h","trigger":"t","admin":true} -->'],
    ["that names its kind twice", '<!-- hunkwise:review v1 {"kind":"summary","head":"h","trigger":"t"} -->'],
    ["of other types", '<!-- hunkwise:review v1 {"head":1,"trigger":"t"} -->'],
    ["of a finding without severity", '<!-- hunkwise:finding v1 {"id":"f","head":"h","trigger":"t"} -->'],
    [
      "of a later finding",
      formatMarker({ ...finding, category: null, symbol: null, code: null, source: null, files: [] }).replace(
        "v3",
        "v4",
      ),
    ],
    ["of a summary of no review", '<!-- hunkwise:summary v3 {"state":{}} -->'],
    ["that is no JSON", "<!-- hunkwise:review v1 {head} -->"],
    ["that is missing", ""],
  ])("A marker %s is none", (_name, body) => {
    expect(parseMarker(body)).toBeUndefined();
  });

  it("A marker in what a model or a person wrote changes nothing of our comment", () => {
    const context = {
      repositoryUrl: "https://github.com/octo/shop",
      ...{ headSha: "b".repeat(40), mergeBaseSha: "a".repeat(40), trigger: "event#1" },
    };
    const around = fc.constantFrom("", "\n", "\n\n", " ", "```\n", "text", "-->", "<!--");
    const forged = fc
      .tuple(around, mark, around)
      .map(([before, one, after]) => before + formatMarker(one) + after);
    fc.assert(
      fc.property(forged, forged, forged, (title, body, suggestion) => {
        const finding = sampleFinding({ id: "real", title, body, suggestion, verification_note: body });
        const comment = renderComment(finding, { kind: "line" }, context);

        expect(parseMarker(comment)).toMatchObject({ kind: "finding", id: "real", head: context.headSha });
        expect(comment.match(/(?<!\\)<!--\s*hunkwise:/gi)).toHaveLength(1);
      }),
      { numRuns: 30 },
    );
  });
});

describe("stripMarkers", () => {
  it("A stripped text holds no marker, and is not changed a second time", () => {
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

  it("A stripped text keeps all other comments", () => {
    expect(stripMarkers("<!-- TODO --> a <!-- hunkwise:x -->")).toBe(
      "<!-- TODO --> a &lt;!-- hunkwise:x -->",
    );
  });
});
