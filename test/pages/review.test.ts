import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TrajectoryEntry } from "../../src/agent/record/trajectory.ts";
import { sampleFinding, sampleProof, sampleResult } from "../report/sample-result.ts";
import { seededRepository, seedHistory } from "../support/seeded-history.ts";
import { type OwnDatabase, ownDatabase, pagesOf, parsePage, person } from "./rendered.ts";

const time = Date.parse("2026-11-27T08:00:00Z");
const shas = { head: "c".repeat(40), base: "a".repeat(40), mergeBase: "b".repeat(40) };
const comment = "https://github.com/octo/repo-1/pull/7#discussion_r6";

const turn = (loop: string, name: string, given: object): TrajectoryEntry => ({
  ...{ kind: "turn", loop, turn: 1 },
  model: {
    ...{ content: `I use ${name}.`, finishReason: "tool_calls" },
    toolCalls: [{ id: "1", name, arguments: JSON.stringify(given) }],
    usage: { promptTokens: 900, cachedTokens: 0, completionTokens: 100, costUsd: 0.02 },
  },
});

const finding = sampleFinding({
  ...{ verification: "confirmed", verification_note: "A cart with one free item has a total of zero." },
  evidence: [{ path: "src/price.ts", start_line: 12, end_line: 14, note: "Zero means free." }],
  proof: sampleProof(),
});
const record: TrajectoryEntry[] = [
  { kind: "run", shas, input: {} },
  turn("review", "read_file_part", { file_path: "src/cart.ts" }),
  {
    kind: "tool_results",
    loop: "review",
    turn: 1,
    results: [{ callId: "1", tool: "x", text: "src/cart.ts, 9 lines\n1|" }],
  },
  turn("verify:f1", "report_verdict", { verdict: "confirmed", reason: "It happens." }),
  {
    ...{ kind: "result", head: "c", base: "a" },
    result: sampleResult({
      findings: [
        { finding, placement: { kind: "inline" } },
        {
          finding: sampleFinding({
            ...{ id: "f2", title: "Two names" },
            proof: { kind: "not_shown", reason: "it passes at the head" },
          }),
          placement: { kind: "summary", reason: "its line is not in the diff" },
        },
      ],
      dropped: [
        {
          id: "f3",
          path: "a.ts",
          line: 3,
          title: "Off by one",
          verdict: "refuted",
          reason: "The range is exclusive.",
          ...{ rule: null, severity: null, category: null },
        },
      ],
      coverage: {
        ...{
          hunks_total: 3,
          hunks_served: 1,
          files_total: 3,
          unserved: [{ path: "src/large.ts", hunks: 2 }],
        },
        files_skipped: [{ path: "package-lock.json", reason: "lock file", account: "parsed" }],
      },
      warnings: ["The last file was read in part."],
    }),
  },
  { kind: "posted", comments: [{ finding: "f1", id: 6, url: comment }] },
  {
    kind: "wrote",
    request: "POST /repos/octo/repo-1/pulls/7/reviews",
    id: 5,
    url: "https://github.com/octo/repo-1/pull/7",
  },
];

describe("the page of one review", () => {
  let own: OwnDatabase;
  let id: string;
  beforeAll(async () => {
    own = await ownDatabase();
    const { database } = own;
    await seedHistory(database, { runs: 20, repositories: 1, now: time, days: 5, recorded: 20 });
    const { run } = database;
    const [row] = (await run("SELECT id, pull FROM run WHERE posted > 0 ORDER BY seq DESC LIMIT 1")).rows;
    id = String(row?.id);
    await run("DELETE FROM trajectory WHERE job_id = :id", { id });
    for (const entry of record)
      await run("INSERT INTO trajectory (job_id, fence, entry, created_at) VALUES (:id, 1, :entry, :time)", {
        ...{ id, entry: JSON.stringify(entry), time },
      });
    await run("UPDATE finding SET state = 'open'");
    await run(
      "UPDATE finding SET comment = 6, state = 'fixed' WHERE key = (SELECT min(key) FROM finding WHERE pull = :pull)",
      {
        pull: Number(row?.pull),
      },
    );
  });
  afterAll(() => own.remove());

  const page = async () =>
    parsePage(
      await (
        await pagesOf(own.reader.run, person([seededRepository(0)]), time).request(`/reviews/${id}`)
      ).text(),
    );

  it("The page of one review tells what was read, found, checked, dropped, left out and why, posted, written and paid", async () => {
    const { text, addresses } = await page();
    for (const words of [
      ...[
        "Review of octo/repo-1#",
        "cccccccccc",
        "bbbbbbbbbb",
        "Adds a total to the cart.",
        "The last file was read in part.",
      ],
      ...[
        "The condition assigns instead of comparing",
        "src/cart.ts:6",
        "if (item.price = 0) continue;",
        "confidence 95%",
      ],
      ...[
        "A second look confirmed it. A cart with one free item has a total of zero.",
        "src/price.ts:12",
        "Zero means free.",
      ],
      ...["In the summary: its line is not in the diff", "Off by one", "refuted", "The range is exclusive."],
      ...["1 of 3 hunks were read", "src/large.ts", "2 hunks not read", "package-lock.json", "lock file"],
      ...[
        "The model read 1 file",
        "I use read_file_part.",
        "src/cart.ts, 9 lines",
        "second looks at findings",
        "$0.02",
      ],
      ...["POST /repos/octo/repo-1/pulls/7/reviews", "No second look was made."],
    ])
      expect(text).toContain(words);
    expect(addresses).toContain(comment);
    expect(addresses).toContain(`https://github.com/octo/repo-1/commit/${shas.head}`);
    expect(addresses.some((address) => address.startsWith("/findings?repository=octo%2Frepo-1&pull="))).toBe(
      true,
    );
  });

  it("The page of one review tells what a test shows of a finding, and has the test and what it printed", async () => {
    const { text } = await page();
    for (const words of [
      "Regression shown by a test. Before: total([{ price: 2 }]) returns 2. Now: total(",
      ...["test/cart-total.proof.test.ts", "assert.equal(total([{ price: 2 }]), 2);"],
      ...["Run with node --test test/cart", "With the change: exit code 1", "at test.ts:4:8"],
      "Not shown by a test: it passes at the head.",
    ])
      expect(text).toContain(words);
  });

  it("The page of one review says what has become of a finding since", async () => {
    expect((await page()).text).toMatch(/comment on GitHub\s*·\s*Now:\s*fixed/);
  });

  it("The page of one review folds the conversations, so that they can be read without script", async () => {
    const { elements } = await page();
    expect(elements.filter(({ tagName }) => tagName === "details").length).toBeGreaterThanOrEqual(3);
    expect(elements.some(({ tagName }) => tagName === "script")).toBe(false);
  });
});
