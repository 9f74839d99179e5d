import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReviewJson } from "../../../src/report/json.ts";
import { isSecondLook, onEveryClaim } from "../../support/claims.ts";
import { GitRepo, TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";
import {
  type Asked,
  type Dialect,
  type DialectServer,
  dialects,
  filled,
  type Reply,
  type Said,
  type Script,
  startDialect,
  tooLong,
} from "./dialects.ts";

const long = process.env.HUNKWISE_LONG === "1";

const lines = (change: (line: number) => boolean) =>
  Array.from({ length: 600 }, (_, line) =>
    change(line)
      ? `export const v${line} = call(${line}, "a longer text that fills the window, ${line}");\n`
      : `export const v${line} = ${line};\n`,
  ).join("");
const one = "export const a = 1;\n";
const faulty = { "a.js": `${one}export const b = a / 0;\n` };

/** Each has one fault; the large change does not fit into one portion of a window of 16,000 tokens. */
let large: GitRepo;
let small: GitRepo;
let folder: TempFolder;
beforeAll(() => {
  const changed = (files: Record<string, string>) => {
    const repo = GitRepo.create();
    repo.commit("Start", { "a.js": one, "src/long.js": lines(() => false) });
    repo.branch("topic").commit("Change", { ...faulty, ...files });
    return repo;
  };
  large = changed({ "src/long.js": lines((line) => line % 40 < 20) });
  small = changed({});
  folder = new TempFolder("dialects");
});
afterAll(() => {
  for (const one of [large, small, folder]) one.dispose();
});

const finding = {
  ...{ path: "a.js", line: 2, quote: "export const b = a / 0;", side: "RIGHT", severity: "high" },
  ...{ category: "correctness", title: "Division by zero", body: "b is Infinity.", confidence: 0.9 },
};
const says = (...calls: [name: string, given: object][]): Said => ({
  text: "I look.",
  calls: calls.map(([name, given]) => ({ name, arguments: { ...given } })),
});

const isReview = ({ tools, messages }: Asked) =>
  tools.includes("report_finding") && !tools.includes("add_numbers") && !isSecondLook({ messages });

/** Two calls at once, two long looks at a file if they are asked for, then ends that come too early; and the second look. */
const model =
  ({ reads = false } = {}): Script =>
  (asked) => {
    const { tools, messages, turns } = asked;
    if (tools.includes("add_numbers"))
      return says(["add_numbers", { a: 2, b: 3 }], ["add_numbers", { a: 20, b: 30 }]);
    if (isSecondLook({ messages })) {
      const verdict = { verdict: "confirmed", failing_input: "any", reason: "It divides.", severity: "high" };
      return { text: "", calls: onEveryClaim(messages, verdict) };
    }
    if (!isReview(asked)) return { text: "Fine.", calls: [] };
    if (turns === 0) return says(["changed_files", {}], ["report_finding", finding]);
    // The newest answers are never taken out of a conversation.
    if (reads && turns <= 2)
      return says(["read_file_part", { file_path: "src/long.js", ref: turns === 1 ? "head" : "base" }]);
    return says(["finish_review", { summary: "Read." }]);
  };

let runs = 0;
async function review(
  dialect: Dialect,
  script: Script,
  { repo = small, effort = "low", env = {} }: { repo?: GitRepo; effort?: string; env?: Env } = {},
) {
  await using server = await startDialect(dialect, script);
  const args = ["review", "--repo", repo.dir, "--base", "main", "--effort", effort, "--format", "json"];
  const own = {
    ...filled(dialect.env, { url: server.url }),
    HUNKWISE_DATA_DIR: join(folder.path, String(runs++)),
  };
  const { code, stdout, stderr } = await runCli(args, { env: { ...own, ...env } });
  return { code, stderr, result: ReviewJson.parse(JSON.parse(stdout)), server };
}
type Env = Record<string, string>;
type Run = Awaited<ReturnType<typeof review>>;

const refusalsOf = ({ exchanges }: DialectServer) =>
  exchanges.flatMap(({ refusal }) => (refusal ? [refusal] : []));

function expectComplete({ code, stderr, result, server }: Run, ...others: DialectServer[]) {
  const { outcome, findings, coverage } = result;
  const servers = [server, ...others];
  const told = `${stderr}\nrefused: ${JSON.stringify(servers.map(refusalsOf), null, 1)}`;
  expect({ code, outcome, found: findings.map(({ title }) => title) }, told).toEqual({
    ...{ code: 1, outcome: "complete", found: ["Division by zero"] },
  });
  expect(coverage.hunks_served).toBe(coverage.hunks_total);
  expect(servers.flatMap(({ complaints }) => complaints)).toEqual([]);
}

/** Whether a text of ours came after the answers of tools, in a message of its own or in the last of them. */
const wasShownMore = ({ messages }: Asked) =>
  messages.some(({ content }) => String(content).includes("These hunks were not read yet."));

describe.concurrent.each(dialects.map((dialect) => [dialect.name, dialect] as const))(
  "a review with %s",
  (_, dialect) => {
    it("A review is complete and asks for nothing twice that was refused", async () => {
      const run = await review(dialect, model(), { repo: large, effort: "medium" });
      expectComplete(run);
      const { exchanges } = run.server;
      expect(run.result.findings[0]?.verification).toBe("confirmed");
      expect(exchanges.some(({ asked }) => isReview(asked) && wasShownMore(asked))).toBe(true);
      // Several loops may learn the same at the same time; after them, nothing is refused.
      expect(refusalsOf(run.server).length).toBeLessThanOrEqual(8);
      expect(exchanges.slice(-4).flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
    });

    const each = (replies: readonly Reply[] = []) =>
      replies.slice(0, long ? undefined : 1).map((one) => [JSON.stringify(one), one] as const);

    it.each(each(dialect.content))(
      "A review is partial if the content is refused: %s",
      async (_, refused) => {
        const script: Script = (asked) => (isReview(asked) ? refused : model()(asked));
        const { code, result, server, stderr } = await review(dialect, script);
        const { outcome, findings, stop_reason: reason, summary } = result;
        expect({ code, outcome, findings, reason }, stderr).toEqual({
          ...{ code: 3, outcome: "partial", findings: [], reason: "content_refused" },
        });
        expect(summary).toContain("the provider of the model refused the content");
        expect(refusalsOf(server).filter((reply) => reply === refused)).toHaveLength(1);
      },
    );

    it.each(each(dialect.quota))(
      "A fallback finishes a review if the account is used up: %s",
      async (_, refused) => {
        const script: Script = (asked) => (isReview(asked) && asked.turns > 0 ? refused : model()(asked));
        // The strictest about what another model did.
        const spare = dialects.find(({ name }) => name === "Mistral") as Dialect;
        await using other = await startDialect(spare, model());
        const env = {
          HUNKWISE_FALLBACK_MODEL: "spare",
          HUNKWISE_FALLBACK_BASE_URL: `${other.url}/v1`,
          HUNKWISE_FALLBACK_API_KEY: spare.env.OPENAI_API_KEY ?? "",
        };
        const run = await review(dialect, script, { env });
        expectComplete(run, other);
        expect(run.stderr).toContain("spare answers instead of");
      },
    );

    it("A review is complete if the window is smaller than reported", async () => {
      let window = 0;
      const script: Script = (asked) => {
        if (!isReview(asked)) return model()(asked);
        // Room for the first conversation and one more look, but neither for a long answer beside them, nor for another look.
        window ||= asked.promptTokens + 6_000;
        return tooLong(dialect, asked, window) ?? model({ reads: true })(asked);
      };
      const run = await review(dialect, script, { env: { HUNKWISE_CONTEXT_TOKENS: "32000" } });
      expectComplete(run);
      const told = refusalsOf(run.server).filter((reply) => JSON.stringify(reply).includes(String(window)));
      expect(told.length > 0).toBe(Object.keys(dialect.tooLong).length > 0);
      expect(told.length).toBeLessThan(8);
    });
  },
);
