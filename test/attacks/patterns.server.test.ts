import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runTool } from "../../src/agent/tools/run-tool.ts";
import { searchInFiles } from "../../src/agent/tools/search-in-files.ts";
import { parseRepoConfig } from "../../src/config/parse-config.ts";
import { createPathMatcher } from "../../src/repo/diff/paths.ts";
import { openRepository, type TestTools, toolsOn } from "../agent/tools/context.ts";
import { type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
import type { ChatRequestBody, FakeTurn } from "../support/fake-openai.ts";
import { GitRepo } from "../support/git-repo.ts";
import { below, stillRunning } from "../support/processes.ts";

/** Each takes far too long in a backtracking matcher. */
const globs = [
  `${"*a".repeat(120)}b`,
  `${"**/a/".repeat(40)}b`,
  `${"*?".repeat(120)}b`,
  `${"[a-z]*".repeat(40)}9`,
  `${"a*".repeat(120)}/**/${"*a".repeat(120)}b`,
  `**/${"{a,aa,aaa}*".repeat(20)}b`,
];
/** Each expands enormously or backtracks in a regular expression engine. */
const expressions = [
  "(?:(?:a{0,100}){0,100}){0,100}",
  "(?:\\w?){200}é",
  "(a+)+$b",
  "(?:\\pL{0,100}){0,100}z",
  `${"(".repeat(1_000)}a${")*".repeat(500)}`,
  "(?=a)b",
];
const longName = "a".repeat(240);
const deepName = `${"a/".repeat(200)}a.ts`;

const calls = [
  ...globs.map((pattern) => ({ name: "list_files", arguments: { pattern } })),
  ...globs.map((file_pattern) => ({ name: "search_in_files", arguments: { pattern: "x", file_pattern } })),
  ...expressions.map((pattern) => ({ name: "search_in_files", arguments: { pattern } })),
];
const finish = { name: "finish_review", arguments: { summary: "Nothing to say." } };

describe("patterns on a server", () => {
  let shared: SharedApp;
  let answer: (body: ChatRequestBody) => FakeTurn | Promise<FakeTurn> = () => ({ tool_calls: [finish] });
  beforeAll(async () => {
    shared = await startSharedApp({ everyRole: (body) => answer(body) });
  });
  afterAll(async () => {
    await shared[Symbol.asyncDispose]();
    expect(shared.app.github.violations).toEqual([]);
  });

  /** Sends webhooks about another pull request until it is stopped; awaits each answer before the next. */
  function knock(events: string[]): { stop(): Promise<void> } {
    const other = shared.addRepository({ "a.txt": "1\n" }).open({ "a.txt": "2\n" });
    let isOver = false;
    const done = (async () => {
      while (!isOver) {
        const status = await other.deliver("edited");
        events.push(status < 300 ? "answered" : `answered with ${status}`);
        await setTimeout(150);
      }
    })();
    return {
      async stop() {
        isOver = true;
        await done;
      },
    };
  }

  it("slow-patterns: Globs of the configuration, patterns of the model and names made for them delay nothing", async () => {
    const list = JSON.stringify(globs);
    const repository = shared.addRepository({
      ".github/hunkwise.yml": `paths: { ignore: ${list}, private: ${list} }\nreview: { base_branches: ["main", ${list.slice(1)} }\ninstructions: [${globs.map((path) => JSON.stringify({ path, text: "Look well." })).join(", ")}]\n`,
      [`${"a/".repeat(20)}.hunkwise.yml`]: `paths: { ignore: ${list}, private: ${list} }\n`,
      ".cursor/rules/all.mdc": `---\nglobs: ${globs.join(",")}\n---\nBe kind.\n`,
      "large.txt": `${"a".repeat(1_000)}\n`.repeat(300),
    });
    const pull = repository.open({
      [longName]: "a\n",
      [deepName]: "b\n",
      "src/a.ts": "export const a = 1;\n",
    });
    const events: string[] = [];
    let results: string[] = [];
    answer = ({ messages }) => {
      const answers = messages.flatMap((one) => (one.role === "tool" ? [one.content ?? ""] : []));
      const isFirst = !events.includes("asked");
      if (isFirst) events.push("asked");
      else if (results.length === 0 && answers.length > 0) {
        events.push("heard");
        results = answers;
      }
      return { tool_calls: isFirst ? calls : [finish] };
    };
    const visitor = knock(events);
    await pull.deliver("opened");
    await pull.concluded();
    await visitor.stop();

    expect(results).toHaveLength(calls.length);
    expect(results.filter((text) => text.startsWith("timeout"))).toEqual([]);
    const meanwhile = events.slice(events.indexOf("asked") + 1, events.indexOf("heard"));
    expect(new Set(meanwhile)).toEqual(new Set(["answered"]));
    expect(pull.check()?.conclusion).toBe("success");
  });

  it("yaml-bombs: A configuration that expands concludes the check with one message, and delays nothing", async () => {
    answer = () => ({ tool_calls: [finish] });
    const events: string[] = [];
    const pulls = Object.values(bombs).map((text) =>
      shared.addRepository({ ".github/hunkwise.yml": text, "a.ts": "1\n" }).open({ "a.ts": "2\n" }),
    );
    const visitor = knock(events);
    await Promise.all(
      pulls.map(async (pull) => {
        await pull.deliver("opened");
        await pull.concluded();
        events.push("concluded");
      }),
    );
    await visitor.stop();

    expect(new Set(events.slice(0, events.indexOf("concluded")))).toEqual(new Set(["answered"]));
    for (const pull of pulls) {
      expect(pull.check()).toMatchObject({
        conclusion: "neutral",
        output: { summary: expect.stringMatching(/no model reads anything/) },
      });
      expect(pull.end()).toMatchObject({ reviews: 0, comments: [] });
      expect(pull.summary()).toContain(".github/hunkwise.yml");
    }
  });
});

const bombs = {
  "aliases of aliases": aliasBomb(9),
  "a hundred thousand brackets": "[".repeat(60_000),
  "groups within groups": `a: ${"{a: ".repeat(15_000)}`,
  "half a megabyte": `paths: { private: [a/] }\n# ${"x".repeat(500_000)}`,
};

function aliasBomb(levels: number): string {
  const names = [..."abcdefghijklm"].slice(0, levels);
  const lines = names.slice(1).map((name, at) => `${name}: &${name} [${Array(9).fill(`*${names[at]}`)}]`);
  return `a: &a [x,x,x,x,x,x,x,x,x]\n${lines.join("\n")}`;
}

describe("yaml-bombs", () => {
  it.each(Object.entries(bombs))("yaml-bombs: All %s are refused with one message", (_, text) => {
    expect(parseRepoConfig(text)).toMatchObject({ ok: false, problems: [{ message: expect.any(String) }] });
  });

  it("yaml-bombs: Keys of keys are refused before they are turned into a value, which takes minutes", () => {
    const parsed = parseRepoConfig(`${"? ".repeat(500)}private`);
    expect(parsed).toMatchObject({ ok: false });
  });

  it("yaml-bombs: A value of a wrong type is refused with one message", () => {
    for (const text of [
      "max_comments: [[[]]]",
      "paths: { ignore: { a: 1 } }",
      "effort: .inf",
      "budget: 1e999",
      "review: !!js/function x",
      `paths:\n  private: x${"'".repeat(60_000)}x\n`,
    ])
      expect({ text, ...parseRepoConfig(text) }).toEqual({ text, ok: false, problems: [expect.anything()] });
  });
});

describe("slow-patterns", () => {
  it("slow-patterns: Matching a glob ends, even on the longest path", () => {
    const paths = [
      "a".repeat(4_096),
      "a/".repeat(2_047),
      "aaaa/".repeat(819),
      `${"a".repeat(250)}/`.repeat(16),
    ];
    for (const glob of globs) {
      const match = createPathMatcher([glob, `!${glob}`, `/${glob}/`, `${glob}/**`]);
      expect(paths.filter((path) => match(path).matched)).toEqual([]);
    }
  });

  /** Tools on a commit of these files plus "b.txt". */
  async function onFiles(
    files: Record<string, string>,
    use: (tools: TestTools) => Promise<void>,
  ): Promise<void> {
    using repo = GitRepo.create();
    repo.commit("base", files);
    repo.git("checkout", "-q", "-b", "topic");
    repo.commit("head", { "b.txt": "b\n" });
    await using opened = await openRepository(repo);
    await use(toolsOn(opened.workspace));
  }

  it("slow-patterns: An expression that expands is refused with a message to the caller", () =>
    onFiles({ "a.txt": `${"a".repeat(1_000)}\n` }, async (tools) => {
      const error = await tools.error("search_in_files", { pattern: expressions[0] });
      expect(error).toContain("exceeds size limit");
      const found = await tools.output("search_in_files", {
        pattern: "b",
        output_mode: "files_with_matches",
      });
      expect(found).toEqual(["b.txt"]);
    }));

  it("slow-patterns: A search that runs out of time ends with its program, and the next one is answered", () =>
    onFiles({ "a.txt": `${"é".repeat(2_000)}\n`.repeat(4_000) }, async (tools) => {
      // ripgrep is slow at boundaries of words that are not ASCII: this takes it minutes.
      const slow = "(?:\\pL\\b?){50}[^é\\n]";
      let started: string[] = [];
      const watch = setInterval(() => {
        started = [...new Set([...started, ...below(process.pid)])];
      }, 20);
      const hurried = { ...searchInFiles, timeoutMs: 3_000 };
      const { result, text } = await runTool(hurried, { pattern: slow }, tools.context);
      clearInterval(watch);

      expect(result.status).toBe("timeout");
      expect(text).toContain("narrow the call down");
      expect(started.length).toBeGreaterThan(0);
      await expect.poll(() => stillRunning(started), { timeout: 120_000 }).toEqual([]);
      const found = await runTool(searchInFiles, { pattern: "b", file_pattern: "b.*" }, tools.context);
      expect(found.result.status).toBe("success");
    }));
});
