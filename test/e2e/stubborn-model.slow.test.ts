import { describe, expect, it } from "vitest";
import type { FakeScript } from "../support/fake-openai.ts";
import { answers, type Case, onApp, patient, turn } from "./conformance-fixture.ts";
import { onPull, type PullOptions } from "./on-pull.ts";

const long = process.env.HUNKWISE_LONG === "1";

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `export const n${from + index} = ${from + index};`);
const base = { "src/numbers.ts": `${lines(1, 60).join("\n")}\n` };
const head = {
  "src/numbers.ts": `${[...lines(1, 29), "export const n30 = 31;", ...lines(31, 60)].join("\n")}\n`,
};

const finding = (over: Record<string, unknown> = {}) => ({
  name: "report_finding",
  arguments: {
    path: "src/numbers.ts",
    line: 30,
    quote: "export const n30 = 31;",
    severity: "high",
    category: "correctness",
    title: "n30 is 31",
    body: "Whoever reads n30 gets 31.",
    confidence: 0.9,
    ...over,
  },
});
const finish = { name: "finish_review", arguments: { summary: "Changes one number." } };

describe.concurrent("a model", patient, () => {
  async function reviewed(app: Case) {
    await app.review();
    return {
      summary: app.summary(),
      check: app.repository.checkRuns[0],
      lines: app.pull.reviewComments.map(({ anchor }) => anchor?.line),
      bodies: app.bodies(),
      requests: app.reviewRequests.map(({ body }) => body),
    };
  }
  const review = (script: FakeScript, over: Partial<PullOptions> = {}) =>
    onPull({ base, head, script, ...over }, reviewed);
  /** Uses a server with a context window of `tokens` tokens. */
  const reviewWithin = (tokens: number, script: FakeScript, over: Partial<PullOptions>) =>
    onApp({ base, head, script, ...over, env: { HUNKWISE_CONTEXT_TOKENS: String(tokens) } }, reviewed);
  const turns = (most: number) => ({
    base: { ...base, ".github/hunkwise.yml": `budget:\n  turns: ${most}\n` },
  });

  it("A model that calls unknown tools, breaks JSON or names foreign paths gets these errors, and continues", async () => {
    const outside = ["../../etc/passwd", "/etc/passwd", ".git/config", "src/../../x", "src/number.ts"];
    const {
      requests,
      lines: commented,
      bodies,
      check,
    } = await review([
      turn(
        { name: "run_shell", arguments: { command: "env" } },
        { name: "read_file_part", arguments: '{"file_path": "src/numbers.ts", "start_line":' },
        { name: "read_file_part", arguments: { numbers: "src/numbers.ts" } },
        ...outside.map((file_path) => ({ name: "read_file_part", arguments: { file_path } })),
        finding({ line: 55, quote: "export const n55 = 55;", title: "n55 is unused" }),
        finding({ quote: "export const n30 = 99;" }),
      ),
      turn(finding(), finish),
    ]);

    const [unknown, broken, wrongKey, ...others] = answers(requests[1]);
    expect(unknown).toMatch(/run_shell/);
    expect(unknown).toMatch(/read_file_part/);
    expect(broken).toMatch(/JSON/);
    expect(wrongKey).toMatch(/file_path/);

    expect(others).toHaveLength(outside.length + 2);
    expect(others.filter((text) => text.includes("root:") || text.includes("[core]"))).toEqual([]);
    expect(others[outside.length - 1]).toContain("src/numbers.ts");

    const [outsideTheDiff, absent] = others.slice(outside.length);
    expect(outsideTheDiff).toContain("outside the diff");
    expect(absent).toContain("src/numbers.ts does not hold the quote");
    expect(absent).toContain("30| export const n30 = 31;");
    expect(commented).toEqual([30, undefined]);
    expect(bodies[1]).toContain("n55 is unused");
    expect(check?.conclusion).toBe("neutral");
  });

  it("A model that makes the same call fifty times is stopped, and the summary says so", async () => {
    const call = { name: "list_files", arguments: {} };
    const { summary, check, requests } = await review((_body, n) => {
      if (n >= 50) throw new Error("was asked fifty times");
      return turn(call);
    });

    expect(requests.length).toBeLessThan(5);
    expect(summary).toMatch(/repeating/);
    expect(summary).not.toMatch(/no problems/i);
    expect(check?.conclusion).toBe("neutral");
  });

  it("A model that never finishes is stopped by the limit of turns, and what it found is posted", async () => {
    const {
      summary,
      lines: commented,
      check,
      requests,
    } = await review(
      (_body, n) =>
        turn(
          n === 0
            ? finding()
            : { name: "read_file_part", arguments: { file_path: "src/numbers.ts", start_line: n } },
        ),
      turns(6),
    );

    expect(requests).toHaveLength(6);
    expect(commented).toEqual([30]);
    expect(summary).toMatch(/limit of (model )?turns was reached/);
    expect(check?.conclusion).toBe("neutral");
    expect(check?.output.title).toMatch(/Incomplete/);
  });

  it("A model that only talks is reminded how to finish, and then the review is incomplete", async () => {
    const { summary, check } = await review(() => ({ content: "Looks good to me!" }));

    expect(summary).toMatch(/without (ending|finishing)/);
    expect(summary).not.toContain("Looks good to me");
    expect(check?.output.title).toMatch(/Incomplete/);
  });

  it("A model that only ever finishes is shown every hunk it did not read, and green means that it was", async () => {
    const wide = (at: number) =>
      `${Array.from({ length: 1_000 }, (_, index) => `export const wide${index} = "${"x".repeat(60)}${at}";`).join("\n")}\n`;
    const { requests, check } = await reviewWithin(64_000, () => turn(finish), {
      head: { ...head, "src/wide0.ts": wide(0), "src/wide1.ts": wide(1), "src/wide2.ts": wide(2) },
    });

    const [refusal] = answers(requests.at(-1));
    expect(refusal).toMatch(/never read[\s\S]*src\/wide\d\.ts/);
    const asked = JSON.stringify(requests);
    const isShown = (at: number) => asked.includes(`wide999 = \\"${"x".repeat(60)}${at}`);
    expect([0, 1, 2].map(isShown)).toEqual([true, true, true]);
    expect(check).toMatchObject({ conclusion: "success" });
    expect(check?.output.summary).toContain("4 of 4 hunks");
  });

  // The same rule without a server: test/review/coverage-gate.git.test.ts.
  it.runIf(long)(
    "A model that only ever finishes ends as an incomplete review if the limit of turns comes first",
    async () => {
      const wide = `${Array.from({ length: 4_000 }, (_, index) => `export const wide${index} = "${"x".repeat(60)}";`).join("\n")}\n`;
      const { summary, check } = await reviewWithin(32_000, () => turn(finish), {
        ...turns(4),
        head: { ...head, "src/wide.ts": wide },
      });

      expect(check?.conclusion).toBe("neutral");
      expect(summary).toMatch(/1 of 2 hunks/);
      expect(summary).not.toContain("no problems");
    },
  );
});
