import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const pages = globSync("{*.md,docs/**/*.md}", { cwd: root });
/** Without what is code in it. */
const read = (page: string) =>
  readFileSync(join(root, page), "utf8").replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, "");

describe("the documents", () => {
  it.each(pages)("of %s link to files that are there", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map(([, to = ""]) => to);
    expect(links.filter((to) => !existsSync(join(root, dirname(page), to)))).toEqual([]);
  });
});

describe("docs/attacks.md", () => {
  const rows = [...read("docs/attacks.md").matchAll(/^\| \*\*([\w-]+)\*\*: (.+)$/gm)];

  it("names each attack once, each with a test", () => {
    const names = rows.map(([, name]) => name);
    expect(names.length).toBeGreaterThan(90);
    expect(names).toEqual([...new Set(names)]);
    expect(
      rows.filter(([, , cells = ""]) => !/\.test\.ts\) \|$/.test(cells)).map(([, name]) => name),
    ).toEqual([]);
  });
});
