import fc from "fast-check";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { describe, expect, it } from "vitest";
import { type Proof, Revision, severities } from "../../../src/core/finding.ts";
import { parseMarker } from "../../../src/core/ledger/marker.ts";
import type { LedgerState } from "../../../src/core/ledger/state.ts";
import { reviewConclusion } from "../../../src/pull/publish/conclusions.ts";
import { mostBodyBytes } from "../../../src/pull/publish/public-text.ts";
import {
  byState,
  type FinalState,
  listed,
  type PublishedFinding,
} from "../../../src/pull/publish/publication.ts";
import { renderComment, renderFinding, type Spot } from "../../../src/pull/publish/render-comment.ts";
import { renderSummaryComment } from "../../../src/pull/publish/summary.ts";
import { untrustedBlock } from "../../../src/report/safe-markdown.ts";
import {
  noAccount,
  sampleDropped,
  sampleEntry,
  sampleFinding,
  samplePlace,
  sampleResult,
} from "../../report/sample-result.ts";

const base = {
  repositoryUrl: "https://github.com/octo/shop",
  headSha: "b".repeat(40),
  mergeBaseSha: "a".repeat(40),
  trigger: "event",
};
const html = (markdown: string) =>
  micromark(markdown, { extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true });

/** Whatever stands at the place where a text has to be cut: repeated, so that a cut may fall anywhere in it. */
const unit = fc.constantFrom(
  "```ts\nconst a = 1;\n```\n",
  "````md\n```js\nx\n```\n````\n",
  "~~~~\n~~~\ncode\n~~~\n~~~~\n",
  "```\nnever closed\n",
  "> ```\n> quoted\n",
  "- item\n\n      indented\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n",
  "[a link](https://evil.test/with(brackets))\n",
  "<details><summary>S</summary>\n\ntext\n\n</details>\n",
  "<details>\n",
  "</details>\n",
  '<a href="https://evil.test">x</a> <!-- comment',
  "`code span",
  "``a ` b``",
  "**bold *and",
  "😀👩‍👩‍👧",
  "\ud83d",
  "é".repeat(50),
  "word ",
  "\n",
  "\t",
  "@octocat #1 ",
  "---\n",
  "<!-- hunkwise:finding v1 {} -->\n",
);
const text = fc
  .array(fc.tuple(unit, fc.constantFrom(1, 2, 30, 400)), { maxLength: 4 })
  .map((parts) => parts.map(([one, times]) => one.repeat(times)).join(""));
const path = fc.oneof(
  fc.constant("src/a.ts"),
  text.map((one) => `src/${one.slice(0, 4_000)}`),
);

const filled = text.filter((one) => one !== "");
const proof = fc.record({
  kind: fc.constantFrom("regression" as const, "reproduced" as const, "ran_right" as const),
  test: fc.record({
    path: filled.map((one) => one.slice(0, 300)),
    text: filled.map((one) => one.slice(0, 20_000)),
  }),
  ...{ command: text, before: text, now: text },
  runs: fc.array(
    fc.record({ on: fc.constantFrom(...Revision.options), exit_code: fc.nat(255), output: text }),
    { minLength: 1, maxLength: 3 },
  ),
}) satisfies fc.Arbitrary<Proof>;

const finding = fc
  .record({
    severity: fc.constantFrom(...severities),
    side: fc.constantFrom("LEFT" as const, "RIGHT" as const),
    path,
    title: text,
    body: text,
    suggestion: fc.option(text),
    evidence: fc.array(
      fc.record({ path, start_line: fc.constant(1), end_line: fc.constant(9), note: text }),
      { maxLength: 15 },
    ),
    verification: fc.constantFrom("confirmed" as const, "uncertain" as const, "unverified" as const),
    verification_note: fc.option(text),
    places: fc.array(
      path.map((path) => samplePlace({ path })),
      { maxLength: 15 },
    ),
    proof: fc.option(proof),
  })
  .map(({ proof, ...over }) => sampleFinding({ ...over, ...(proof && { proof }) }));
const spot = fc.constantFrom<Spot[]>({ kind: "line" }, { kind: "file", reason: "`x` <b>|" });

/** What GitHub shows must be whole: our tags closed, nothing of ours swallowed by a fence, no link but ours. */
function expectWhole(markdown: string, folds: number): void {
  expect(markdown.isWellFormed()).toBe(true);
  const page = html(markdown);
  const tags = [...page.matchAll(/<\/?details>/g)].map(([tag]) => tag);
  expect(tags).toEqual(Array(folds).fill(["<details>", "</details>"]).flat());
  expect(page.match(/<table|<script|<img/g)).toBeNull();
  // A browser shows no comment, and what a path in a marker begins is not a link.
  const links = [...page.replaceAll(/<!--.*?-->/gs, "").matchAll(/href="([^"]*)"/g)].map(
    ([, href]) => href ?? "",
  );
  expect(links.filter((href) => !href.startsWith(base.repositoryUrl))).toEqual([]);
}

const foldsOf = (markdown: string) =>
  markdown.match(
    /^<details><summary>(How this was checked|The test|A test that|About this review|✅ Hunkwise|What was not read|Files skipped|Left out)/gm,
  )?.length ?? 0;

const long = process.env.HUNKWISE_LONG === "1";

describe("The body of a comment", () => {
  // Cut at a tenth of what GitHub takes: to read all of that as Markdown takes seconds.
  it("A comment is well formed wherever it is cut", () => {
    const room = fc.integer({ min: 5_000, max: 8_000 });
    fc.assert(
      fc.property(finding, spot, room, (finding, spot, maxBytes) => {
        const body = renderFinding(finding, spot, base, maxBytes);
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(maxBytes);
        expectWhole(body, foldsOf(body));
        expect(html(body)).toContain("<summary>How this was checked</summary>");
      }),
      { numRuns: long ? 200 : 15 },
    );
  });

  it.each([
    ["emoji", "👩‍👩‍👧 😀é "],
    ["code blocks", "```ts\nconst a = 1;\n```\n````\n```\n````\n"],
    ["code spans and brackets", "`a` [b](c) ``d`` "],
    ["what becomes longer", "@octocat \u202e#1 "],
  ])("A comment is well formed at every size near a limit: %s", (_what, unit) => {
    const all = sampleFinding({ title: unit, body: unit.repeat(1_500), suggestion: null });
    for (let size = 3_000; size < 3_100; size += 9) {
      const body = renderFinding(all, { kind: "line" }, base, size);
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(size);
      expect(body.isWellFormed()).toBe(true);
      if (size === 3_045) expectWhole(body, 1);
    }
    for (const size of [65_536, 65_599]) {
      const body = untrustedBlock(unit.repeat(9_000), size);
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(size);
      expect(Buffer.byteLength(body)).toBeGreaterThan(size * 0.8);
    }
  });

  it("A comment has room for its text beside the link of a very long path", () => {
    const long = sampleFinding({
      ...{ path: `src/${"% ".repeat(480)}.ts`, title: "t".repeat(400), body: "b".repeat(9_000) },
      ...{ verification: "uncertain", verification_note: "n".repeat(2_000) },
    });
    const body = renderFinding(long, { kind: "list", reason: "r".repeat(300) }, base, 4_000);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(4_000);
    expect(body).toContain("bbbb");
  });

  it("A comment fits with its marker, whatever was found", () => {
    const more = fc.constantFrom(1, 2, 20);
    fc.assert(
      fc.property(finding, spot, more, (finding, spot, times) => {
        const body = renderComment({ ...finding, body: finding.body.repeat(times) }, spot, base);
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(mostBodyBytes);
        expect(body.isWellFormed()).toBe(true);
        expect(parseMarker(body)).toMatchObject({ kind: "finding", id: finding.id });
      }),
    );
  });

  it("A comment keeps title, suggestion and evidence if each alone is too long", () => {
    const evidence = Array.from({ length: 40 }, (_, index) => ({
      path: `${"deep/".repeat(800)}${index}.ts`,
      start_line: 1,
      end_line: 2,
      note: "n".repeat(9_000),
    }));
    const body = renderComment(
      sampleFinding({
        ...{ title: "t".repeat(70_000), body: "b".repeat(70_000), suggestion: "s\n".repeat(9_000), evidence },
      }),
      { kind: "line" },
      base,
    );
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(mostBodyBytes);
    expect(body).toMatch(/^\*\*🔴 High: t+…\*\*\n\nb+/);
    expect(body).toContain("```suggestion\ns\ns\n");
    expect(body).toMatch(/^- `…[deep/]+0\.ts:1-2`: n+…$/m);
    expect(body).toMatch(/^- and \d+ more places$/m);
  });
});

describe("The body of the summary", () => {
  const place = fc.constantFrom<FinalState[]>(
    { kind: "posted" },
    { kind: "annotated" },
    { kind: "posted_before", entry: null },
    { kind: "posted_before", entry: sampleEntry() },
    { kind: "dismissed", entry: sampleEntry({ state: "dismissed" }) },
    listed("its lines are not in the diff"),
    listed(`\`\`\` <details> | ${"long ".repeat(200)}`),
  );
  const routed = fc.record({ finding, place }) satisfies fc.Arbitrary<PublishedFinding<FinalState>>;
  const accounts = fc.constantFrom("left_out" as const, "parsed" as const, "unread" as const);
  const files = fc.array(fc.record({ path, reason: text, account: accounts }), { maxLength: 20 });

  const dismissal = fc.record({
    how: fc.constantFrom(...(["reaction", "reply", "resolved", "command", "deleted"] as const)),
    by: fc.option(text),
    at: fc.constantFrom(null, "2026-11-22T10:00:00Z"),
  });
  const entry = fc
    .record({ path, title: text, dismissal, line: fc.constantFrom(null, 3) })
    .map((over) => sampleEntry({ ...over, url: `${base.repositoryUrl}/pull/7#discussion_r1` }));
  const entries = fc.array(entry, { maxLength: 5 });
  const state = fc.record({
    summary: text,
    posted: fc.array(text, { maxLength: 9 }),
    decided: fc.constant([] as LedgerState["decided"]),
    paused: fc.option(fc.record({ by: text.map((one) => one.slice(0, 39)), at: fc.constant("`2026`") })),
    carried: fc.array(
      fc
        .record({ finding, standing: fc.constantFrom("listed" as const, "dismissed" as const), by: text })
        .map((one) => ({ ...one, reason: "why", number: 7 })),
      { maxLength: 3 },
    ),
    unplaced: fc.record({
      reports: fc.array(
        fc.record({ number: fc.constant(8), text, by: text }, { requiredKeys: ["number", "text"] }),
      ),
      hashes: fc.constant<string[]>([]),
    }),
    next: fc.constant(9),
    reviewed: fc.option(
      fc
        .constantFrom(1, 2_000)
        .map((times) => ({ unit: "change" as const, hashes: Array<string>(times).fill("abcdefghijklmno") })),
    ),
  });

  const anything = fc.record({
    routes: fc.array(routed, { maxLength: 6 }),
    ...{ open: entries, dismissed: entries, state, config_changes: fc.array(text, { maxLength: 3 }) },
    fixed: fc.array(fc.record({ entry, state: fc.constantFrom("fixed", "withdrawn"), reason: text }), {
      maxLength: 4,
    }),
    settled: fc.array(fc.record({ path, title: text, reason: text }), { maxLength: 3 }),
    ...{ summary: text, files_skipped: files, warnings: fc.array(text, { maxLength: 3 }) },
    notices: fc.array(text, { maxLength: 3 }),
    dropped: fc.array(fc.record({ path, title: text, reason: text }).map(sampleDropped), { maxLength: 9 }),
    masked: fc.array(fc.record({ path, line: fc.nat() }), { maxLength: 30 }),
  });
  type Anything = typeof anything extends fc.Arbitrary<infer T> ? T : never;
  const rendered = (one: Anything) => {
    const { routes, summary, files_skipped, warnings, notices, dropped, config_changes, state, masked } = one;
    const { open, dismissed, fixed, settled } = one;
    const result = sampleResult({
      ...{ summary, warnings, dropped, config_changes, masked },
      findings: routes.map(({ finding }) => ({ finding, placement: { kind: "inline" } })),
      coverage: { ...sampleResult().coverage, files_total: 99, files_skipped },
    });
    const account = { ...noAccount, open, dismissed, fixed, settled };
    const input = {
      result,
      version: "1",
      checkUrl: undefined,
      notices,
      ...account,
      ...byState(routes),
      remembered: state,
    };
    const { summary: figures } = reviewConclusion(result, { threshold: "high", fail: false });
    return { body: renderSummaryComment(input, base, { trigger: "event", state }), figures };
  };

  it("The summary and the figures of the check run are well formed", () => {
    fc.assert(
      fc.property(anything, (one) => {
        const { body, figures } = rendered(one);
        expectWhole(body, foldsOf(body));
        expect(html(body).trimEnd()).toMatch(/<!-- hunkwise:summary v3 [^<>]* -->$/);
        expectWhole(figures, foldsOf(figures));
      }),
      { numRuns: long ? 60 : 6 },
    );
  });

  it("The summary fits, however much was found", () => {
    fc.assert(
      fc.property(anything, fc.constantFrom(1, 5, 100), (one, times) => {
        const routes = Array(times).fill(one.routes).flat() as PublishedFinding<FinalState>[];
        const open = Array(times).fill(one.open).flat();
        const { body, figures } = rendered({ ...one, routes, open });
        for (const text of [body, figures])
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(mostBodyBytes);
        expect(parseMarker(body)).toMatchObject({ kind: "summary" });
      }),
      { numRuns: long ? 100 : 12 },
    );
  });
});
