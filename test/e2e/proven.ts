import { chmodSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { findOnPath } from "../../src/repo/git/run-process.ts";
import type { AppOptions } from "../support/app-under-test.ts";
import type { ChatRequestBody, FakeTurn } from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";
import { finding, finish, type ToolCall, turn } from "./conformance-fixture.ts";

/*
 * A pull request with a real regression, a model that proves it, and a count of what the sandbox really runs.
 */

const before = `export function total(prices) {
  return prices.reduce((sum, price) => sum + price, 0);
}
`;
const after = `export function total(prices) {
  return prices.reduce((sum, price) => sum + price);
}
`;
export const path = "src/cart.js";
const files = { "package.json": '{ "name": "shop", "type": "module" }\n', [path]: before };
export const head = { [path]: after };

/** Files of the base branch, with a configuration; null for none. */
export const baseWith = (config: string | null) => ({
  ...files,
  ...(config === null ? {} : { ".github/hunkwise.yml": config }),
});

export const on = baseWith("prove: { enabled: true }\n");
/** The review proves nothing, because no finding is severe enough; a person may ask for it. */
export const onRequest = baseWith("prove: { enabled: true, severity: critical }\n");

export const title = "An empty cart has no total";
const wrong = finding({
  ...{ path, line: 2, title, body: "total([]) throws a TypeError." },
  quote: "  return prices.reduce((sum, price) => sum + price);",
  suggestion: "  return prices.reduce((sum, price) => sum + price, 0);",
});

export const testPath = "test/empty-cart.test.js";
const assertion = (line: string) => `import assert from "node:assert/strict";
import { total } from "../src/cart.js";

${line}
`;
export const showing = assertion("assert.equal(total([]), 0);");
export const missing = assertion("assert.equal(total([1, 2]), 3);");

interface Proving {
  test?: string;
  intent?: { asks: string; quote?: string };
  /** Called before each answer. */
  onRequest?(): void;
}

const offers = (body: ChatRequestBody, tool: string) =>
  body.tools?.some((one) => one.function.name === tool) ?? false;
export const isOfProof = (body: ChatRequestBody) => offers(body, "try_test") || offers(body, "report_intent");

/** Reports the finding, writes the test, and claims a regression whatever the runs say. Derives its progress from the request only. */
export function proving({ test = showing, intent = { asks: "silent" }, onRequest = () => {} }: Proving = {}) {
  const tryTest: ToolCall = { name: "try_test", arguments: { path: testPath, content: test } };
  const finishProof: ToolCall = {
    name: "finish_proof",
    arguments: {
      ...{ outcome: "regression", reason: "An empty cart is added up." },
      ...{ before: "total([]) returns 0", now: "total([]) throws a TypeError" },
    },
  };
  return (body: ChatRequestBody): FakeTurn => {
    onRequest();
    if (offers(body, "report_intent"))
      return turn({ name: "report_intent", arguments: { fits: true, ...intent } });
    if (!offers(body, "try_test")) return turn(wrong, finish);
    return turn(body.messages.some(({ role }) => role === "assistant") ? finishProof : tryTest);
  };
}

/** A folder with a `bwrap` that counts its starts. */
export class CountedSandbox implements Disposable {
  readonly #folder = new TempFolder("bwrap");
  readonly env: { PATH: string };
  readonly #starts = join(this.#folder.path, "starts");

  /** @param bwrap the real program */
  constructor(bwrap: string) {
    writeFileSync(this.#starts, "");
    // The sandboxes of root run as `nobody`.
    chmodSync(this.#folder.path, 0o755);
    chmodSync(this.#starts, 0o666);
    const program = join(this.#folder.path, "bwrap");
    writeFileSync(program, `#!/bin/sh\necho >> '${this.#starts}'\nexec '${bwrap}' "$@"\n`);
    chmodSync(program, 0o755);
    this.env = { PATH: `${this.#folder.path}:${process.env.PATH}` };
  }

  /** How often a sandbox was started, with the trial whether it works at all. */
  get starts(): number {
    return readFileSync(this.#starts).length;
  }

  [Symbol.dispose](): void {
    this.#folder.dispose();
  }
}

/** A PATH on which there is git and no sandbox. */
export async function pathWithoutSandbox(folder: string): Promise<string> {
  for (const name of ["git", "sh"]) {
    const program = await findOnPath(name, process.env.PATH ?? "");
    if (program === undefined) throw new Error(`there is no ${name}`);
    symlinkSync(program, join(folder, name));
  }
  return folder;
}

interface Recorded {
  kind: string;
  [field: string]: unknown;
}

/** Everything that all jobs recorded, in order. */
export function recordedIn(dataFolder: string): Recorded[] {
  using database = new DatabaseSync(join(dataFolder, "queue.db"), { readOnly: true });
  const rows = database.prepare("SELECT entry FROM trajectory ORDER BY job_id, number").all();
  return rows.map(({ entry }) => JSON.parse(String(entry)));
}

/** The keys of the runs of tests. */
export const testedIn = (dataFolder: string): unknown[] =>
  recordedIn(dataFolder).flatMap((entry) => (entry.kind === "tested" ? [entry.key] : []));

export const options = { base: on, head, title: "Shorten total" } satisfies Partial<AppOptions>;
