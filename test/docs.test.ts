import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const pages = globSync("{*.md,docs/**/*.md}", { cwd: root });
/** Without what is code in it. */
const read = (page: string) =>
  readFileSync(join(root, page), "utf8").replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, "");

describe("the documents", () => {
  it.each(pages)("The links of %s lead to existing files", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map(([, to = ""]) => to);
    expect(links.filter((to) => !existsSync(join(root, dirname(page), to)))).toEqual([]);
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
