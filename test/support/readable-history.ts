import type { Run } from "../../src/server/queue/database.ts";
import { sampleDropped, sampleFinding, sampleResult } from "../report/sample-result.ts";
import { deriveHistory, firstRepository, seededId, seedHistory } from "./seeded-history.ts";

/*
 * What a small company's server has on record after three months, in words that people can read: for pictures of pages. All of it is made
 * up, and the same each time.
 */

const names = ["shop", "billing", "mobile-app", "infrastructure"] as const;
const size = { runs: 460, days: 90, findings: 4, active: 2, waiting: 3 };

/** As GitHub would show it to a member of the company. */
export const readableRepositories = names.map((name, index) => ({
  ...{ id: firstRepository + index, installation: 1 + index, owner: "acme", name, mayWrite: true },
}));

interface Kind {
  title: string;
  path: string;
  category: string;
  rule?: string;
  source?: string;
}

const kinds: readonly Kind[] = [
  { category: "correctness", title: "The condition assigns instead of comparing", path: "src/cart/total.ts" },
  { category: "correctness", title: "The last page of orders is never read", path: "src/orders/export.ts" },
  {
    category: "security",
    title: "The file's name comes from the request and may leave the folder",
    path: "src/uploads/store.ts",
  },
  {
    category: "error-handling",
    title: "The error of the payment provider is swallowed",
    path: "src/payments/charge.ts",
  },
  {
    category: "performance",
    title: "Each order asks the database for its customer",
    path: "src/orders/list.ts",
  },
  {
    category: "api",
    title: "The answer lacks the field that the mobile app reads",
    path: "src/api/orders.ts",
  },
  {
    category: "test",
    title: "The promise is not awaited, so the test always passes",
    path: "test/orders/cancel.test.ts",
  },
  {
    category: "correctness",
    title: "A price is a floating-point number",
    path: "src/refunds/amount.ts",
    rule: "money-is-decimal",
  },
  {
    category: "performance",
    title: "A file is read while all requests wait",
    path: "src/import/parse.ts",
    rule: "no-sync-io",
  },
  {
    category: "maintainability",
    title: "A debugger statement is left",
    path: "src/stock/reserve.ts",
    source: "leftovers/debugger",
  },
  {
    category: "correctness",
    title: "The default value is shared by all calls",
    path: "jobs/collect.py",
    source: "ast-grep/py-mutable-default",
  },
];

const reasons = [
  "We know; the provider guarantees the order.",
  "This runs once a night, and the list is short.",
  "Intended: the old app still sends both.",
];

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const pick = (value: string, texts: readonly (string | null)[]) =>
  `CASE (${value}) % ${texts.length} ${texts.map((text, index) => `WHEN ${index} THEN ${text === null ? "NULL" : quoted(text)}`).join(" ")} END`;

/** Fills an empty SQLite database. Returns the id of a review whose record tells a whole story. */
export async function seedReadableHistory({ run }: { run: Run }, now: number): Promise<string> {
  await seedHistory({ run }, { ...size, now, repositories: names.length, recorded: size.runs });
  for (const { id, owner, name } of readableRepositories)
    await run("UPDATE repository SET owner = :owner, name = :name WHERE id = :id", { id, owner, name });
  const kind = (of: (kind: Kind) => string | null) => pick("comment / 3", kinds.map(of));
  await run(
    `UPDATE finding SET category = ${kind((one) => one.category)}, rule = ${kind((one) => one.rule ?? null)}, source = ${kind((one) => one.source ?? "model")}`,
  );
  const { length } = kinds;
  for (const [at, { title, path }] of kinds.entries())
    await run(
      `UPDATE finding_text SET title = :title, path = :path, url = replace(url, 'octo/repo-1/', 'acme/shop/')
        WHERE (CAST(substr(key, 1) AS INTEGER) / 3) % :length = :at`,
      { title, path, length, at },
    );
  const { rows } = await run(
    "SELECT seq FROM run WHERE posted = 2 AND repository = :shop ORDER BY seq DESC LIMIT 1",
    { shop: firstRepository },
  );
  const id = seededId(Number(rows[0]?.seq));
  // As its record tells it.
  await run(
    `UPDATE run SET hunks_total = 9, hunks_served = 9, is_complete = 1, findings = 2, turns = 4, prompt_tokens = 77000, cached_tokens = 36000,
      completion_tokens = 1680, cost_usd = 0.124, unpriced = 0 WHERE id = :id`,
    { id },
  );
  for (const table of ["outcome_week", "model_week", "run_week"]) await run(`DELETE FROM ${table}`);
  await deriveHistory(run, now, size.days);
  await run(`UPDATE finding_text SET reason = ${pick("line", reasons)} WHERE reason IS NOT NULL`);
  await run("UPDATE job SET task = replace(task, '\"pull\":100', '\"pull\":') WHERE state = 'waiting'");
  await run("UPDATE job SET reason = NULL WHERE state = 'done'");
  await run(
    "INSERT INTO delivery (id, event, action, received_at) VALUES ('1', 'pull_request', 'opened', :at)",
    { at: now - 121_000 },
  );
  await run(
    "UPDATE job SET reason = 'The model did not answer within 120 s' WHERE state = 'failed' AND reason IS NOT NULL",
  );
  await tellStory(run, id);
  return id;
}

const usage = (promptTokens: number) => ({
  promptTokens,
  cachedTokens: 9_000,
  completionTokens: 420,
  costUsd: 0.031,
});
const turn = (loop: string, at: number, content: string, ...calls: [tool: string, args: object][]) => ({
  ...{ kind: "turn", loop, turn: at },
  model: {
    ...{ content, finishReason: "tool_calls", usage: usage(14_000 + at * 3_000) },
    toolCalls: calls.map(([name, args], index) => ({
      id: `${at}.${index}`,
      name,
      arguments: JSON.stringify(args),
    })),
  },
});

async function tellStory(run: Run, id: string): Promise<void> {
  const condition = sampleFinding({
    ...{ path: "src/cart/total.ts", verification: "confirmed" },
    verification_note:
      "`checkout` passes items whose price is 0 for free samples, and they would be charged.",
    evidence: [
      { path: "src/cart/checkout.ts", start_line: 41, end_line: 44, note: "free samples come in here" },
      { path: "test/cart/total.test.ts", start_line: 12, end_line: 18, note: "no test has a price of 0" },
    ],
  });
  const page = sampleFinding({
    id: "f2",
    path: "src/orders/export.ts",
    line: 28,
    severity: "medium",
    suggestion: null,
    confidence: 0.8,
    ...{ quote: "  while (page < pages) {", title: "The last page of orders is never read" },
    body: "Pages are numbered from 1, so the loop ends before page `pages` is read. Exports with more than one page lack up to 100 orders.",
    ...{ verification: "uncertain", verification_note: "The tests have exports of one page only." },
  });
  const entries = [
    {
      ...{ kind: "run", attempt: 1, mode: "model" },
      shas: {
        head: "b7d91e".padEnd(40, "4"),
        base: "a03c55".padEnd(40, "9"),
        mergeBase: "a03c55".padEnd(40, "9"),
      },
    },
    turn("review", 1, "I look at the change and at who calls it.", [
      "get_diff",
      { file_path: "src/cart/total.ts" },
    ]),
    turn(
      "review",
      2,
      "The condition looks wrong; I read its callers.",
      ["search_code", { pattern: "total(" }],
      ["read_file_part", { file_path: "src/cart/checkout.ts", start_line: 30 }],
    ),
    turn("review", 3, "", ["report_finding", { path: condition.path, line: 6, title: condition.title }]),
    turn("verify:f1", 1, "The assignment is there, and free samples pass it.", [
      "give_verdict",
      { verdict: "confirmed" },
    ]),
    {
      ...{ kind: "result", head: "b", base: "a" },
      result: sampleResult({
        summary: "Adds a total to the cart, and exports all orders instead of those of a day.",
        findings: [
          { finding: condition, placement: { kind: "inline" } },
          { finding: page, placement: { kind: "inline" } },
        ],
        dropped: [sampleDropped({ path: "src/cart/price.ts" })],
        coverage: {
          ...{ hunks_total: 9, hunks_served: 9, unserved: [], files_total: 4 },
          files_skipped: [{ path: "package-lock.json", reason: "lock file", account: "parsed" }],
        },
      }),
    },
  ];
  const posted = await run(
    "SELECT comment, url FROM finding JOIN finding_text USING (repository, pull, key) WHERE comment IN (SELECT seq * 40 + i FROM run, (SELECT 0 AS i UNION SELECT 1) WHERE id = :id) ORDER BY comment",
    { id },
  );
  const comments = posted.rows.map(({ comment, url }, index) => ({
    finding: `f${index + 1}`,
    id: comment,
    url,
  }));
  await run("DELETE FROM trajectory WHERE job_id = :id", { id });
  const { rows } = await run("SELECT started_at, fence FROM job WHERE id = :id", { id });
  for (const [index, entry] of [...entries, { kind: "posted", comments }].entries())
    await run("INSERT INTO trajectory (job_id, fence, entry, created_at) VALUES (:id, :fence, :entry, :at)", {
      ...{ id, fence: Number(rows[0]?.fence), entry: JSON.stringify(entry) },
      at: Number(rows[0]?.started_at) + 9_000 * (index + 1),
    });
}
