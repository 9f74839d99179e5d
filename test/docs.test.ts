import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";

const root = join(import.meta.dirname, "..");
const pages = globSync("{*.md,docs/**/*.md}", { cwd: root });
/** Without blocks of code. */
const prose = (page: string) => readFileSync(join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
/** Without what is code in it. */
const read = (page: string) =>
  readFileSync(join(root, page), "utf8").replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, "");
/** The anchors that GitHub makes of the headings of a page. */
const anchorsOf = (page: string) =>
  [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );

describe("the documents", () => {
  it.each(pages)("The links of %s lead to existing files and headings", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)/g)].map(([, to = ""]) => to);
    const isBroken = (to: string) => {
      const [file = "", anchor] = to.split("#");
      const target = file === "" ? page : join(dirname(page), file);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).includes(anchor);
    };
    expect(links.filter(isBroken)).toEqual([]);
  });

  it("Documents and code are in American English, as GitHub's documentation is", () => {
    const british =
      /\w*(?:organis(?:e|ing|ation)|colour|neighbour|behaviour|labelled|recognis|licence|artefact|misspelt|sanitis|neutralis)\w*/gi;
    const files = [...pages, "llms.txt", ...globSync("{src,rules}/**/*.{ts,md,yml}", { cwd: root })];
    const wordsIn = (file: string) => readFileSync(join(root, file), "utf8").match(british) ?? [];
    expect(files.flatMap((file) => wordsIn(file).map((word) => `${file}: ${word}`))).toEqual([]);
  });

  it("llms.txt links every page of docs, and nothing that does not exist", () => {
    const links = [...read("llms.txt").matchAll(/\]\(https:\S+?\/blob\/main\/([^)\s]+)\)/g)].map(
      ([, to = ""]) => to,
    );
    expect(globSync("docs/*.md", { cwd: root }).filter((page) => !links.includes(page))).toEqual([]);
    expect(links.filter((to) => !existsSync(join(root, to)))).toEqual([]);
  });
});

describe("docs/attacks.md", () => {
  const page = read("docs/attacks.md");
  const names = [...page.matchAll(/\*\*([\w-]+)\*\*/g)].map(([, name = ""]) => name);
  const isTested = (text: string) => /\]\([^)\s]+\.test\.ts\)/.test(text);

  it("docs/attacks.md names each attack once, each with a test", () => {
    expect(names.length).toBeGreaterThan(90);
    expect(names).toEqual([...new Set(names)]);
    expect(page.split("\n").filter((line) => line.includes("**") && !isTested(line))).toEqual([]);
  });

  it("docs/attacks.md names tests of each principle", () => {
    const principles = page.split(/^## /m).slice(1);
    expect(principles.length).toBeGreaterThan(9);
    expect(principles.filter((one) => !isTested(one.split(/^- /m)[0] ?? ""))).toEqual([]);
  });

  it("docs/attacks.md links each test of attacks and names each attack in them", () => {
    const files = globSync("test/attacks/**/*.test.ts", { cwd: root });
    expect(files.filter((file) => !page.includes(`(../${file})`))).toEqual([]);
    const sentences = /(?:\bit(?:\.\w+)*\(|\)\()\s*["`]([a-z]+(?:-[a-z]+)*): /g;
    const quoted = files.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(sentences)].map(([, name = ""]) => name),
    );
    expect(new Set(quoted).size).toBeGreaterThan(60);
    expect([...new Set(quoted)].filter((name) => !names.includes(name))).toEqual([]);
  });
});

/** The blocks of code of a page in one language. */
function blocksOf(page: string, language: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    ([, block = ""]) => block,
  );
}

/** Every object and list in a parsed document, from the outside in. */
const within = (value: unknown): object[] =>
  typeof value === "object" && value !== null ? [value, ...Object.values(value).flatMap(within)] : [];

describe("docs/mcp.md", () => {
  const page = "docs/mcp.md";
  const documents = [
    ...blocksOf(page, "json").map((block): unknown => JSON.parse(block)),
    ...blocksOf(page, "toml").map((block): unknown => parseToml(block)),
  ];

  it("Each document of docs/mcp.md starts `hunkwise mcp`", () => {
    expect(documents).toHaveLength(6);
    for (const document of documents) {
      const started = within(document).flatMap((one) => {
        const { command, args = [] } = one as { command?: string | string[]; args?: string[] };
        return command === undefined ? [] : [[command, args].flat()];
      });
      expect(started).toEqual([expect.arrayContaining(["hunkwise", "mcp"])]);
      const options = started[0]?.slice(2).filter((word) => word.startsWith("-")) ?? [];
      expect(["--repo"]).toEqual(expect.arrayContaining(options));
    }
  });

  it("Each shell line of docs/mcp.md starts `hunkwise mcp` as the last thing that Claude Code reads, or the first of the inspector", () => {
    expect(blocksOf(page, "sh").map((line) => line.trim())).toEqual([
      expect.stringMatching(/^claude mcp add hunkwise -- hunkwise mcp$/),
      expect.stringMatching(/^npx @modelcontextprotocol\/inspector --cli hunkwise mcp --method /),
    ]);
  });

  it("docs/mcp.md names the versions of the inspector and the SDK that the tests use", () => {
    const versionOf = (file: string, name: string) => {
      const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(join(root, file), "utf8"));
      return { ...dependencies, ...devDependencies }[name];
    };
    const inspector = versionOf("test/slow-tools/package.json", "@modelcontextprotocol/inspector");
    expect(read(page)).toContain(`| MCP Inspector | ${inspector} |`);
    const sdk = versionOf("package.json", "@modelcontextprotocol/client");
    expect(read(page)).toContain(`| MCP SDK for TypeScript | ${sdk} |`);
  });
});

describe("docs/hooks.md", () => {
  it("Each example of docs/hooks.md runs both hooks with commands that exist", () => {
    const [lefthook, preCommit] = blocksOf("docs/hooks.md", "yaml").map((block): unknown => parseYaml(block));
    const lines = (document: unknown, key: "run" | "entry") =>
      within(document).flatMap((one) => (one as Record<string, unknown>)[key] ?? []);
    const both = ["hunkwise hook run pre-commit", "hunkwise hook run pre-push"];
    expect(lines(lefthook, "run")).toEqual(both);
    expect(lines(preCommit, "entry")).toEqual(both);
    const [husky = ""] = blocksOf("docs/hooks.md", "sh");
    expect([...husky.matchAll(/'(.*)' >> \.husky\/(.*)/g)].map(([, line, file]) => [line, file])).toEqual(
      both.map((line) => [line, line.split(" ").at(-1)]),
    );
  });
});
