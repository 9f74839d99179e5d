import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { showHidden } from "../../src/core/text/escape-invisible.ts";
import type { Viewer } from "../../src/pages/viewer.ts";
import { sampleFinding, sampleResult } from "../report/sample-result.ts";
import { seededRepository, seedHistory } from "../support/seeded-history.ts";
import { type OwnDatabase, operator, ownDatabase, pagesOf, parseCsv, parsePage, person } from "./rendered.ts";

const time = Date.parse("2026-11-27T08:00:00Z");
const repository = { ...seededRepository(0), name: "shop" };

let own: OwnDatabase;
let id: string;
beforeAll(async () => {
  own = await ownDatabase();
  const { database } = own;
  await seedHistory(database, {
    runs: 20,
    repositories: 1,
    now: time,
    days: 5,
    recorded: 20,
    active: 1,
    waiting: 3,
  });
  const { rows } = await database.run("SELECT id FROM run WHERE posted > 0 ORDER BY seq DESC LIMIT 1");
  id = String(rows[0]?.id);
});
afterAll(() => own.remove());

/** Writes a text wherever a pull request, a person or a model can put one. */
async function write(text: string): Promise<void> {
  const { run } = own.database;
  await run("UPDATE finding_text SET title = :text, path = :text, reason = :text, url = :text", { text });
  await run(
    "UPDATE finding SET rule = :text, category = :text, source = :text, dismissed_by = :text, dismissed_how = :text",
    { text },
  );
  await run(
    "UPDATE run SET requested_by = :text, reason = :text, outcome = :text, kind = :text, origin = :text",
    { text },
  );
  await run("UPDATE job SET reason = :text WHERE state = 'waiting'", { text });
  await run("UPDATE worker SET name = :text || name, version = :text WHERE length(name) < 10", { text });
  await run("DELETE FROM trajectory WHERE job_id = :id", { id });
  const finding = sampleFinding({
    ...{ title: text, path: text, quote: text, body: text, suggestion: text, rule: text, source: text },
    ...{ verification_note: text, evidence: [{ path: text, start_line: 1, end_line: 1, note: text }] },
  });
  const entries = [
    { kind: "messages", loop: text, messages: [{ role: "user", content: text }] },
    {
      ...{ kind: "turn", loop: text, turn: 1 },
      model: {
        ...{
          content: text,
          finishReason: "stop",
          toolCalls: [{ id: "1", name: text, arguments: JSON.stringify({ path: text }) }],
        },
        usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null },
      },
    },
    { kind: "tool_results", loop: text, turn: 1, results: [{ callId: "1", tool: text, text }] },
    { kind: "stopped", loop: text, reason: text, fault: { code: text, message: text } },
    { kind: "note", page: text, content: text, answer: text },
    {
      ...{ kind: "result", head: "b", base: "a" },
      result: sampleResult({
        ...{ summary: text, warnings: [text], stop_reason: "token_limit" },
        findings: [
          { finding, placement: { kind: "inline" } },
          { finding: { ...finding, id: "f2" }, placement: { kind: "summary", reason: text } },
        ],
        dropped: [
          {
            id: "f3",
            path: text,
            line: 1,
            title: text,
            verdict: "refuted",
            reason: text,
            ...{ rule: null, severity: null, category: null },
          },
        ],
        coverage: {
          ...{ hunks_total: 2, hunks_served: 1, files_total: 1 },
          unserved: [{ path: text, hunks: 1 }],
          files_skipped: [{ path: text, reason: text, account: "unread" }],
        },
      }),
    },
    { kind: "posted", comments: [{ finding: "f1", id: 1, url: text }] },
    { kind: "wrote", request: text, id: 1, url: text },
  ];
  for (const entry of entries)
    await run("INSERT INTO trajectory (job_id, fence, entry, created_at) VALUES (:id, 1, :entry, :time)", {
      ...{ id, entry: JSON.stringify(entry), time },
    });
}

const pages = () => ["/", "/reviews", "/findings", `/reviews/${id}`];
const viewers = (text: string): Viewer[] => [
  { ...person([{ ...repository, name: `a${text}`, owner: `b${text}` }]), login: `c${text}` },
  operator([repository]),
];
const read = async (viewer: Viewer, address: string) =>
  (await pagesOf(own.reader.run, viewer, time).request(address)).text();

const attacks = fc.oneof(
  fc.constantFrom(
    ...[
      "</title><script>alert(1)</script>",
      '"><img src=x onerror=alert(1)>',
      "' onmouseover='alert(1)",
      "javascript:alert(1)",
    ],
    ...[
      "<!--",
      "-->",
      "]]>",
      "</textarea></style></table>",
      "&lt;b&gt;&amp;&#60;",
      "<svg/onload=alert(1)>",
      "//evil.example",
    ],
    ...[
      "\u202egnp.exe",
      "\u200b",
      "\u{e0041}",
      "https://github.com.evil.example/",
      "https://github.com@evil.example/",
    ],
    ...[
      "=HYPERLINK(1)",
      "<a href=javascript:x>",
      "<meta http-equiv=refresh content=0>",
      "<base href=//evil>",
      "a\nb\rc\u2028d",
    ],
  ),
  fc.string({ minLength: 1 }).map((text) => `x${text}`),
  fc.string({ unit: fc.constantFrom(..."<>\"'&=/ a-!;#"), minLength: 1 }).map((text) => `x${text}`),
);

it("Hostile text changes no element, attribute or address of a page, and its hidden characters are shown", async () => {
  await write("harmless");
  const harmless = new Map<string, string[]>();
  for (const [who, viewer] of viewers("harmless").entries())
    for (const page of pages()) harmless.set(`${who} ${page}`, parsePage(await read(viewer, page)).skeleton);
  await fc.assert(
    fc.asyncProperty(
      attacks.filter((text) => text.trim() !== ""),
      async (text) => {
        await write(text);
        for (const [who, viewer] of viewers(text).entries()) {
          for (const page of pages()) {
            const parsed = parsePage(await read(viewer, page));
            expect(parsed.skeleton, `${page} for ${JSON.stringify(text)}`).toEqual(
              harmless.get(`${who} ${page}`),
            );
            for (const address of parsed.addresses)
              expect(address).toMatch(/^(?:\/(?!\/)|#content$|https:\/\/github\.com\/)/);
            expect(parsed.text).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u);
          }
        }
      },
    ),
    { numRuns: 25 },
  );
});

it("Hostile text is on the page as it was written", async () => {
  const text = `<b onclick="x">&amp; 'q' </b>`;
  await write(text);
  for (const viewer of viewers(text))
    for (const page of pages()) expect(parsePage(await read(viewer, page)).text).toContain(showHidden(text));
});

it("Hostile text becomes no formula in a file, and no other cell", async () => {
  await fc.assert(
    fc.asyncProperty(attacks, async (text) => {
      await write(text);
      for (const viewer of viewers(text))
        for (const file of ["/reviews.csv", "/findings.csv"]) {
          const [head, ...records] = parseCsv(await read(viewer, file));
          expect(records.length).toBeGreaterThan(0);
          for (const record of records) {
            expect(record).toHaveLength(head?.length ?? 0);
            for (const cell of record) expect(cell.trimStart()).not.toMatch(/^[=+\-@]/);
          }
        }
    }),
    { numRuns: 10 },
  );
});

it("A record shows no secret that it holds", async () => {
  const token = `ghp_${"aB3dE5gH7j".repeat(4).slice(0, 36)}`;
  await write(`the token ${token} is in the code`);
  await own.database.run(
    "UPDATE run SET requested_by = NULL, kind = 'review', outcome = 'skipped', origin = 'event'",
  );
  const page = await read(operator([repository]), `/reviews/${id}`);
  expect(page).toContain("is in the code");
  expect(page).not.toContain(token);
  expect(page).not.toContain(token.slice(0, 20));
});

it("A record shows the words of a model's failure to operators only, because they name the operator's machines", async () => {
  await own.database.run(
    "UPDATE run SET reason = NULL, requested_by = NULL, kind = 'review', outcome = 'failed', origin = 'event'",
  );
  await own.database.run("UPDATE job SET reason = 'http://model.internal:8000 refused' WHERE id = :id", {
    id,
  });
  const [forPerson, forOperator] = [person([repository]), operator([repository])];
  const entry = {
    kind: "stopped",
    loop: "review",
    reason: "model_error",
    fault: { code: "x", message: "at model.internal" },
  };
  await own.database.run("DELETE FROM trajectory WHERE job_id = :id", { id });
  await own.database.run(
    "INSERT INTO trajectory (job_id, fence, entry, created_at) VALUES (:id, 1, :entry, 1)",
    { id, entry: JSON.stringify(entry) },
  );
  expect(await read(forOperator, `/reviews/${id}`)).toContain("at model.internal");
  expect(await read(forOperator, `/reviews/${id}`)).toContain("http://model.internal:8000 refused");
  expect(await read(forPerson, `/reviews/${id}`)).toContain("model error");
  expect(await read(forPerson, `/reviews/${id}`)).not.toContain("model.internal");
});

it("A record of ten thousand long entries becomes a page of bounded size that says what it leaves out", async () => {
  await write("x");
  const long = "A long answer, which goes on and on. ".repeat(40);
  const entry = JSON.stringify({
    ...{ kind: "turn", loop: "review", turn: 1 },
    model: {
      ...{ content: long, toolCalls: [], finishReason: "stop" },
      usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null },
    },
  });
  await own.database.run(
    `INSERT INTO trajectory (job_id, fence, entry, created_at)
        WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 10000) SELECT :id, 1, :entry, i FROM number`,
    { id, entry },
  );
  const page = await read(person([repository]), `/reviews/${id}`);
  expect(page.length).toBeLessThan(1_500_000);
  expect(page).toContain("of the record are not shown");
  // What comes last, the result, is there.
  expect(page).toContain("Findings");
  await own.database.run("DELETE FROM trajectory WHERE job_id = :id", { id });
});

it("A record that was deleted leaves the figures, and the page says how long records are kept", async () => {
  await own.database.run("DELETE FROM job WHERE id = :id", { id });
  await own.database.run("UPDATE run SET ended_at = :at WHERE id = :id", {
    at: time - 40 * 86_400_000,
    id,
  });
  const page = await read(person([repository]), `/reviews/${id}`);
  expect(page).toContain("records are kept for 30 days");
  expect(page).toContain("Model turns");
});
