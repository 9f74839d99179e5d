import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SearchMatch } from "../../../src/agent/tools/search-in-files.ts";
import type { SearchQuery } from "../../../src/repo/git/workspace.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { type ContextOptions, openRepository, toolsOn } from "./context.ts";
import { createReadingRepo } from "./reading-repo.ts";

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
const open = (options: ContextOptions = {}) => toolsOn(opened.workspace, options);

beforeAll(async () => {
  repo = createReadingRepo();
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

describe("search_in_files", () => {
  const search = (sent: Record<string, unknown>) => open().output("search_in_files", sent);

  it("search_in_files finds tracked lines, hidden files too, by path and line", async () => {
    const found = (await search({ pattern: "needle\\b" })) as SearchMatch[];
    expect(found.map((one) => `${one.file_path}:${one.line_number}`)).toEqual([
      ".config/hidden.yml:1",
      "secrets/key.txt:1",
      "src/a.ts:2",
      "src/a.ts:6",
      "src/deep/er/c.py:1",
      "wide.txt:1",
    ]);
    expect(found[2]).toEqual({
      file_path: "src/a.ts",
      line_number: 2,
      line_content: "TWO needle",
      match_context: "1-one\n2:TWO needle\n3-three\n4-four",
    });
  });

  it.each([
    ["a literal", { pattern: "x.y", fixed_string: true }, ["src/b.test.ts"]],
    ["a pattern", { pattern: "x.y", output_mode: "count" }, [{ file_path: "src/b.test.ts", count: 2 }]],
    ["any case", { pattern: "NEEDLES", ignore_case: true }, ["src/b.test.ts"]],
    ["whole words", { pattern: "needle", whole_word: true, path: "src" }, ["src/a.ts", "src/deep/er/c.py"]],
    ["lines that do not match", { pattern: "^", invert_match: true }, []],
    ["files by glob", { pattern: "needle", file_pattern: "*.py" }, ["src/deep/er/c.py"]],
    ["files by type", { pattern: "needle", file_type: "py" }, ["src/deep/er/c.py"]],
    ["one file", { pattern: "needle", path: "src/a.ts" }, ["src/a.ts"]],
    ["one folder", { pattern: "needle", path: "src/deep/" }, ["src/deep/er/c.py"]],
  ])("search_in_files searches for %s", async (_, sent, expected) => {
    expect(await search({ output_mode: "files_with_matches", ...sent })).toEqual(expected);
  });

  it("search_in_files tells how ripgrep was run", async () => {
    const { result } = await open().run("search_in_files", { pattern: "needle", path: "src" });

    expect(result.metadata.debug).toEqual({
      command: expect.stringMatching(/^rg .*needle/),
      return_code: 0,
      stderr: "",
    });
  });

  it("search_in_files merges overlapping surroundings and leaves numbers out on request", async () => {
    const tools = open();
    const sent = { pattern: "needle", path: "src/a.ts", context_lines: 1 };
    const numberedText = (await tools.run("search_in_files", sent)).text;
    expect(numberedText).toBe(
      "2 matches in 1 file\nsrc/a.ts\n1-one\n2:TWO needle\n3-three\n--\n5-five\n6:needle",
    );
    const wider = (await tools.run("search_in_files", { ...sent, context_lines: 2 })).text;
    expect(wider).toBe(
      "2 matches in 1 file\nsrc/a.ts\n1-one\n2:TWO needle\n3-three\n4-four\n5-five\n6:needle",
    );
    const plain = (await tools.run("search_in_files", { ...sent, show_line_numbers: false })).text;
    expect(plain).toBe("2 matches in 1 file\nsrc/a.ts\none\nTWO needle\nthree\n--\nfive\nneedle");
  });

  it("search_in_files says when it stopped early, and that nothing was found", async () => {
    const tools = open();
    const stopped = await tools.run("search_in_files", { pattern: "line", path: "long.txt", max_results: 3 });
    expect(stopped.result).toMatchObject({ output: { length: 3 }, metadata: { truncated: true } });
    expect(stopped.text).toMatch(
      /^at least 5,000 matches in 1 file\n[\s\S]*\(max_results is the limit: raise it, up to 1000, or set path or file_pattern\)$/,
    );
    const none = await tools.run("search_in_files", { pattern: "nowhere", file_type: "py" });
    expect(none.result).toMatchObject({ status: "success", output: [] });
    expect(none.text).toBe("No match for 'nowhere' in files of type py.");
  });

  it("search_in_files cuts lines of minified files, for the model shorter still", async () => {
    const { result, text } = await open().run("search_in_files", { pattern: "needle", path: "wide.txt" });
    expect(text).toMatch(/1:x+… \[\d+ more characters of this line\]/);
    expect(result).toMatchObject({ output: [{ line_content: expect.stringMatching(/^x{2000}/) }] });
  });

  it.each([
    ["a broken pattern", { pattern: "a(" }, /unclosed group[\s\S]*set fixed_string/],
    ["an unknown type", { pattern: "a", file_type: "nonsense" }, /nonsense/],
    ["a folder that is not there", { pattern: "a", path: "srcs" }, /no such file 'srcs'/],
    ["a pattern that is an option", { pattern: "" }, /at pattern/],
  ])("search_in_files refuses %s", async (_, sent, words) =>
    expect(await open().error("search_in_files", sent)).toMatch(words),
  );

  it("search_in_files takes a pattern that looks like an option as a pattern", async () => {
    expect(await search({ pattern: "--pre=sh" })).toEqual([]);
  });
});

describe("private paths", () => {
  it("Private paths leave through no tool", async () => {
    const tools = open({ private: ["secrets/**"] });
    const calls: [string, Record<string, unknown>][] = [
      ["changed_files", {}],
      ["diff_file", { file_path: "secrets/key.txt" }],
      ["read_file_part", { file_path: "secrets/key.txt" }],
      ["read_file_part", { file_path: "./secrets//key.txt" }],
      ["search_in_files", { pattern: "CANARY" }],
      ["search_in_files", { pattern: "needle", max_results: 2, context_lines: 20 }],
      ["search_in_files", { pattern: "needle", output_mode: "count" }],
      ["search_in_files", { pattern: "needle", path: "secrets" }],
      ["list_files", { type: "any" }],
      ["list_files", { directory: "secrets" }],
      ["diff_files", { file_path1: "empty.txt", file_path2: "secrets/key.txt" }],
    ];
    const texts = await Promise.all(
      calls.map(async ([tool, sent]) => {
        const { result, text } = await tools.run(tool, sent);
        return text + JSON.stringify(result);
      }),
    );
    expect(texts.filter((text) => text.includes("CANARY :") || text.includes("needle CANARY"))).toEqual([]);
    for (const at of [0, 1, 2, 3, 7, 8, 9, 10]) expect(texts[at]).toContain("withheld by configuration");
    expect(texts[4]).toContain("No match");
    expect(texts[6]).not.toContain("secrets");
    expect(JSON.stringify(await tools.output("list_files"))).not.toContain("secrets");
  });

  it("Private paths take no place among the results of a search", async () => {
    const tools = open({ private: [".config/", "secrets/"] });
    const found = await tools.output<SearchMatch[]>("search_in_files", {
      pattern: "needle\\b",
      max_results: 2,
    });
    expect(found.map((one) => one.file_path)).toEqual(["src/a.ts", "src/a.ts"]);
  });

  it("Private paths take no time of a search either, however often they match", async () => {
    using bulky = GitRepo.create({ bare: true });
    bulky.importCommits([
      { branch: "main", files: [] },
      {
        branch: "topic",
        parents: ["main"],
        files: [
          ["a/secret.txt", "needle\n".repeat(160_000)],
          ["b/open.txt", "needle\n"],
        ],
      },
    ]);
    await using over = await openRepository(bulky);
    const { context, output } = toolsOn(over.workspace, { private: ["a/"] });
    const asked: SearchQuery[] = [];
    const { search } = over.workspace;
    context.workspace.search = (query, signal) => {
      asked.push(query);
      return search.call(over.workspace, query, signal);
    };
    const found = await output<SearchMatch[]>("search_in_files", { pattern: "needle" });
    expect(found.map((one) => one.file_path)).toEqual(["b/open.txt"]);
    for (const output_mode of ["count", "files_with_matches"])
      expect(await output("search_in_files", { pattern: "needle", output_mode })).toHaveLength(1);
    expect(asked.map((query) => query.maxResults)).toEqual([5_000, 5_000, 5_000]);
  });
});

describe("a search that other files than product code fill", () => {
  it("A search that documents fill still shows the product code behind them", async () => {
    using filled = GitRepo.create({ bare: true });
    filled.importCommits([
      { branch: "main", files: [] },
      {
        branch: "topic",
        parents: ["main"],
        files: [
          ["docs/a.md", "needle\n".repeat(5_001)],
          ["src/a.ts", "needle();\n"],
          ["src/secret.ts", "needle();\n"],
          ["tests/b.test.ts", "needle();\n"],
        ],
      },
    ]);
    await using over = await openRepository(filled);
    const { run, output } = toolsOn(over.workspace, { private: ["src/secret.ts"] });
    const { text } = await run("search_in_files", { pattern: "needle" });
    expect(text).toMatch(/^at least 5,001 matches in 2 files\nsrc\/a.ts\n1:needle\(\);\nDocumentation/);
    expect(text).not.toContain("secret");
    const found = await output<SearchMatch[]>("search_in_files", { pattern: "needle", max_results: 1_000 });
    expect(new Set(found.map((one) => one.file_path))).toEqual(new Set(["docs/a.md"]));
  });
});

describe("the answer to a search", () => {
  const body = (name: string, lines: number) =>
    `export function ${name}() {\n${"  call();\n".repeat(lines)}}\n\n`;
  let many: GitRepo;
  let over: Awaited<ReturnType<typeof openRepository>>;
  const ask = (sent: Record<string, unknown>, options: ContextOptions = {}) =>
    toolsOn(over.workspace, options).run("search_in_files", sent);

  beforeAll(async () => {
    many = GitRepo.create({ bare: true });
    const wide = (at: number) => `export function wide${at}() {\n  broad("${"x".repeat(150)}");\n}\n`;
    many.importCommits([
      { branch: "main", files: [] },
      {
        branch: "topic",
        parents: ["main"],
        files: [
          ["docs/a.md", "call(), they say\n"],
          ["src/b.ts", `${body("first", 1)}const two = call();\n${body("second", 2)}`],
          ["src/a.test.ts", "it('calls', () => {\n  call();\n});\n"],
          ["vendor/a.js", "call();\n"],
          ["src/broken.ts", "function ( { call(\n"],
          ["secrets/a.ts", "call();\n"],
          ...Array.from({ length: 90 }, (_, at) => [`wide/${at + 10}.ts`, wide(at)] as const),
          ...Array.from({ length: 70 }, (_, at) => [`tests/t${at + 10}.ts`, "broad();\nbroad();\n"] as const),
        ],
      },
    ]);
    over = await openRepository(many);
  });
  afterAll(async () => {
    await over?.[Symbol.asyncDispose]();
    many?.dispose();
  });

  it("The answer to a search shows product code before tests, documentation and foreign files", async () => {
    const { text } = await ask({ pattern: "call\\(", context_lines: 0 }, { private: ["secrets/"] });

    expect(text.split("\n")).toEqual([
      "8 matches in 5 files",
      "src/b.ts",
      "-- in first (1-3)",
      "2:  call();",
      "-- at top level",
      "5:const two = call();",
      "-- in second (6-9)",
      "7:  call();",
      "8:  call();",
      "src/broken.ts",
      "1:function ( { call(",
      "Tests:",
      "src/a.test.ts",
      "-- in calls (1-3)",
      "2:  call();",
      "Documentation and examples:",
      "docs/a.md",
      "1:call(), they say",
      "Vendored, generated and lock files: 1 match in 1 file",
    ]);
  });

  it("The answer to a search keeps the order of the contract in its output: by path, then line", async () => {
    const { result } = await ask({ pattern: "call\\(" });
    const found = (result.status === "success" && (result.output as SearchMatch[])) || [];
    const places = found.map((one) => one.file_path);

    expect(places).toEqual(places.toSorted());
    expect(new Set(places).size).toBe(6);
  });

  it.each([
    [{ output_mode: "count" }, "8 matches in 5 files", "src/b.ts: 4", "1 match in 1 file"],
    [{ output_mode: "files_with_matches" }, "5 files", "src/b.ts", "1 file"],
  ])("The answer to a search says how many there are with %j", async (mode, total, first, foreign) => {
    const { text } = await ask({ pattern: "call\\(", ...mode }, { private: ["secrets/"] });

    expect(text.split("\n").slice(0, 2)).toEqual([total, first]);
    expect(text.split("\n").at(-1)).toBe(`Vendored, generated and lock files: ${foreign}`);
  });

  it("The answer to a search takes lines before and after a match by themselves", async () => {
    const contextOf = async (sent: object) => {
      const { result } = await ask({ pattern: "const two", path: "src/b.ts", ...sent });
      return result.status === "success" && (result.output as SearchMatch[])[0]?.match_context;
    };

    expect(await contextOf({ before_context: 0, after_context: 1 })).toBe(
      "5:const two = call();\n6-export function second() {",
    );
    expect(await contextOf({ before_context: 2, context_lines: 0 })).toBe("3-}\n4-\n5:const two = call();");
    expect(await contextOf({ after_context: 0, context_lines: 1 })).toBe("4-\n5:const two = call();");
  });

  it("The answer to a search counts what a broad answer does not show, product code first", async () => {
    const { result, text } = await ask({ pattern: "broad\\(" });
    const lines = text.split("\n");
    const at = lines.indexOf("Matches that are not shown:");
    const counted = lines
      .slice(at + 1)
      .flatMap((line) => /^wide\S+: (\d+)(?: \(.*\))?$/.exec(line)?.[1] ?? []);
    const shown =
      lines.filter((line) => /^wide\//.test(line)).length - counted.filter((one) => one === "1").length;

    expect(lines[0]).toBe("230 matches in 160 files");
    expect(text.length).toBeLessThan(9_000);
    expect(shown).toBeGreaterThan(20);
    // With the numbers of its lines, for they may be what was asked for.
    expect(lines[at + 1]).toMatch(/^wide\/\d+\.ts: 1 \(2\)$/);
    const tests = /^Tests, documentation and examples: ([\d]+) matches in (\d+) files$/m.exec(text);
    const further = /further file/.test(text) ? Number(/in (\d+) further files?/.exec(text)?.[1]) : 0;
    expect(Number(tests?.[2]) + shown + counted.length + further).toBe(160);
    expect(lines.at(-1)).toBe(
      "(the size of an answer is the limit: set path or file_pattern to see the rest)",
    );
    expect(result).toMatchObject({ output: { length: 50 }, metadata: { truncated: true } });
  });

  it("The answer to a search is longer when more results are asked for", async () => {
    const { result, text } = await ask({ pattern: "broad\\(", max_results: 300 });

    expect(text.length).toBeGreaterThan(12_000);
    expect(text).not.toContain("not shown");
    expect(result).toMatchObject({ output: { length: 230 }, metadata: { truncated: false } });
  });

  it("The answer to a search ends with a match and not with the heading of one", async () => {
    const { text } = await ask({ pattern: "broad", path: "wide", context_lines: 0 });
    const lines = text.split("\n");

    expect(lines[lines.indexOf("Matches that are not shown:") - 1]).toMatch(/^2:/);
  });
});

describe("the order of an answer", () => {
  const many = (count: number, line: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => line(at)).join("");
  const used = "import { rate } from './rate.ts';\n";
  let crowded: GitRepo;
  let over: Awaited<ReturnType<typeof openRepository>>;
  const ask = async (sent: Record<string, unknown>) => {
    const { result, text } = await toolsOn(over.workspace).run("search_in_files", sent);
    if (result.status !== "success") throw new Error(text);
    return { lines: text.split("\n"), output: result.output as SearchMatch[] };
  };
  const filesIn = (lines: readonly string[]) => lines.filter((line) => /^[\w/.-]+\.\w+$/.test(line));

  beforeAll(async () => {
    crowded = GitRepo.create({ bare: true });
    const bundle = `var x="${"y".repeat(3_000)}";rate(1);\n`;
    crowded.importCommits([
      { branch: "main", files: [] },
      {
        branch: "topic",
        parents: ["main"],
        files: [
          ["a/first.ts", `${used}${many(2_500, (at) => `use(rate, ${at});\n`)}`],
          ["a/first.test.ts", `${used}${many(60, () => "  rate(1);\n")}`],
          ["dist/app.js", many(40, () => "rate(1);\n")],
          ["public/app.js", bundle],
          [
            "src/rate.ts",
            "// The rate of an order.\nexport function rate(total: number) {\n  return total * rate.factor;\n}\n",
          ],
          ["src/setup.ts", `${used}export function setup(order) {\n  log(rate);\n  order.rate = 2;\n}\n`],
          ["src/user.ts", `${used}export const charge = () => rate(2);\n`],
          ["vendor/rate.js", "function rate() {}\nfunction vendored() {}\n"],
        ],
      },
    ]);
    over = await openRepository(crowded);
  });
  afterAll(async () => {
    await over?.[Symbol.asyncDispose]();
    crowded?.dispose();
  });

  it("The first part of an answer is one match of every product file, and tests are counted", async () => {
    const { lines, output } = await ask({ pattern: "rate\\b", context_lines: 0 });

    expect(output.map(({ file_path }) => file_path).toSorted()).toEqual(
      output.map(({ file_path }) => file_path),
    );
    expect(new Set(output.map(({ file_path }) => file_path))).toEqual(new Set(["a/first.test.ts"]));
    expect(filesIn(lines)).toEqual(["src/rate.ts", "a/first.ts", "src/setup.ts", "src/user.ts"]);
    expect(lines).toContain("Tests, documentation and examples: 61 matches in 1 file");
    expect(lines.slice(0, 8)).toEqual([
      "2,612 matches in 8 files",
      "src/rate.ts",
      "-- in rate (2-4)",
      "1:// The rate of an order.",
      "2 defines:export function rate(total: number) {",
      "3:  return total * rate.factor;",
      "a/first.ts",
      "2:use(rate, 0);",
    ]);
    expect(lines).toContain("4 writes:  order.rate = 2;");
    expect(lines).toContain("Vendored, generated and lock files: 42 matches in 3 files");
    expect(lines.filter((line) => /^(?:dist|vendor|public)/.test(line))).toEqual([]);
  });

  it("The first part of an answer is the best match of a file if there is room for no other", async () => {
    const { lines } = await ask({ pattern: "rate\\b", context_lines: 0, max_results: 5 });

    expect(lines.filter((line) => /^\d/.test(line)).slice(1)).toEqual([
      "1:// The rate of an order.",
      "2 defines:export function rate(total: number) {",
      "2:use(rate, 0);",
      "3:  log(rate);",
      "2:export const charge = () => rate(2);",
    ]);
    expect(lines.at(-1)).toBe(
      "(max_results is the limit: raise it, up to 1000, or set path or file_pattern)",
    );
  });

  it("The first part of an answer has a line of every product file, however many lines around it are wanted", async () => {
    const files = Array.from({ length: 40 }, (_, at) => {
      const lines = Array.from(
        { length: 50 },
        (_one, line) => `export const row${at}_${line} = ${"9".repeat(60)};`,
      );
      return [`src/f${at}.ts`, `${lines.join("\n")}\nwanted(${at});\n${lines.join("\n")}\n`] as const;
    });
    using wide = GitRepo.create({ bare: true });
    const sets = Array.from(
      { length: 9 },
      (_, at) => [`src/s${at}.ts`, "this.wanted = 1;\n".repeat(30)] as const,
    );
    wide.importCommits([
      { branch: "main", files: [] },
      { branch: "topic", parents: ["main"], files: [...files, ...sets] },
    ]);
    await using opened_ = await openRepository(wide);
    const { text } = await toolsOn(opened_.workspace).run("search_in_files", {
      pattern: "wanted",
      context_lines: 20,
    });
    for (const [path] of files) expect(text).toContain(`\n${path}\n`);
    expect(text.match(/^51:wanted\(/gm)).toHaveLength(40);
    expect(text).toMatch(/^50-/m);
    expect(text).toMatch(/^Assignments: \d+ matches in \d files$/m);
    expect(text.length).toBeLessThan(9_000);
  });

  it("The first part of an answer is what comes first by path and line if a path is given", async () => {
    const { lines } = await ask({ pattern: "rate\\b", context_lines: 0, path: "src" });

    expect(filesIn(lines)).toEqual(["src/rate.ts", "src/setup.ts", "src/user.ts"]);
    const folder = await ask({ pattern: "rate\\b", context_lines: 0, path: "a" });
    expect(filesIn(folder.lines)).toEqual(["a/first.test.ts"]);
    expect(folder.lines.filter((line) => line.startsWith("Tests"))).toEqual([]);
  });

  it.each([
    ["a path names them", { path: "vendor" }, "vendor/rate.js"],
    ["a path names one of them", { path: "dist/app.js" }, "dist/app.js"],
    ["a path names a minified file", { path: "public/app.js" }, "public/app.js"],
    ["nothing else matches", { file_pattern: "*.js" }, "public/app.js"],
    ["nothing else matches the pattern", { pattern: "vendored" }, "vendor/rate.js"],
  ])("The first part of an answer is a foreign file where %s", async (_, sent, path) => {
    const { lines } = await ask({ pattern: "rate\\b", ...sent });

    expect(filesIn(lines)[0]).toBe(path);
    expect(lines.filter((line) => line.startsWith("Vendored") && !line.endsWith(":"))).toEqual([]);
  });

  it("The first part of an answer leaves no match of the output out: each is shown or counted", async () => {
    const call = fc.record({
      pattern: fc.constantFrom("rate\\b", "rate", "\\(", "use|log", "e", "import .* rate"),
      context_lines: fc.constantFrom(0, 2, 20),
      max_results: fc.constantFrom(1, 7, 50, 300, 1_000),
      path: fc.constantFrom(undefined, undefined, "a", "src", "."),
      show_line_numbers: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(call, async ({ path, ...sent }) => {
        const { lines, output } = await ask(path === undefined ? sent : { ...sent, path });
        const shown = new Map<string, number>();
        let file = "";
        for (const line of lines) {
          if (filesIn([line]).length > 0) file = line;
          else if (/^\d+(?: \w+)?:/.test(line)) shown.set(file, (shown.get(file) ?? 0) + 1);
          const counted = /^([\w/.-]+\.\w+): (\d+)(?: \([\d, ]+\))?$/.exec(line);
          if (counted) shown.set(counted[1]!, (shown.get(counted[1]!) ?? 0) + Number(counted[2]));
        }
        const total = Number(/^(?:at least )?([\d,]+)/.exec(lines[0]!)?.[1]?.replace(",", ""));
        const inOneLine = lines.flatMap(
          (line) => /^(?:Vendored|Tests, doc|Assignments).*: ([\d,]+) match/.exec(line)?.[1] ?? [],
        );
        const foreign = inOneLine.reduce((sum, one) => sum + Number(one.replace(",", "")), 0);
        const perFile = Map.groupBy(output, ({ file_path }) => file_path);

        expect(output.length).toBe(Math.min(total, sent.max_results));
        if (!sent.show_line_numbers) return;
        expect([...shown.values()].reduce((sum, one) => sum + one, foreign)).toBe(total);
        for (const [name, matches] of perFile)
          if (!/^(?:dist|vendor|public|src\/setup|.*\.test\.ts)/.test(name))
            expect(shown.get(name)).toBeGreaterThanOrEqual(matches.length);
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});
