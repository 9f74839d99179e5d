import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { blockOf, openLogseqVault, pageFile } from "../../../src/agent/record/journal.ts";
import { TempFolder } from "../../support/git-repo.ts";

const at = new Date("2026-11-22T20:39:06Z");
let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder("vault");
});
afterEach(() => folder.dispose());

const vault = () => openLogseqVault(folder.path, () => at);
const page = (name: string) => readFileSync(join(folder.path, "pages", name), "utf8");

describe("a Logseq graph", () => {
  it("A Logseq graph gets a new page, with a block that names the run", async () => {
    expect(await vault().append("hunkwise-audit", "octo/shop#12", "Read all.\nFound one.")).toBeNull();
    expect(page("hunkwise-audit.md")).toBe(
      "- Hunkwise, `octo/shop#12`, 2026-11-22 20:39 UTC\n  ```text\n  Read all.\n  Found one.\n  ```\n",
    );
  });

  it("A Logseq graph keeps the content of a page, whether or not its last line is complete", async () => {
    mkdirSync(join(folder.path, "pages"));
    for (const text of ["- mine", "- mine\n", ""]) {
      writeFileSync(join(folder.path, "pages", "log.md"), text);
      await vault().append("log", "a#1", "x");
      expect(page("log.md")).toBe(`${text === "" ? "" : "- mine\n"}${blockOf("a#1", "x", at)}`);
    }
  });

  it("Concurrent writers add each block whole", async () => {
    const texts = Array.from({ length: 40 }, (_, n) => `${n} `.repeat(9_000).trim());
    await Promise.all(texts.map((text) => vault().append("log", "a#1", text)));
    const blocks = page("log.md").split(/^(?=- )/m);
    const whole = new Set(texts.map((text) => blockOf("a#1", text, at)));
    expect(blocks).toHaveLength(texts.length);
    expect(blocks.filter((block) => !whole.delete(block)).map((block) => block.length)).toEqual([]);
  });

  it("Every page has a file of its own in the folder, whatever its name", () => {
    const names = fc.string({
      unit: fc.oneof(fc.constantFrom(..."./\\%_:con \0\n"), fc.string({ maxLength: 1 })),
    });
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(names, (name) => {
        let file: string;
        try {
          file = pageFile(name);
        } catch {
          return;
        }
        expect(join("/vault/pages", file)).toBe(`/vault/pages/${file}`);
        expect(file).not.toMatch(/[/\\\p{Cc}]|^\./u);
        expect(seen.get(file) ?? name.normalize("NFC").trim()).toBe(name.normalize("NFC").trim());
        seen.set(file, name.normalize("NFC").trim());
      }),
      { numRuns: 300 },
    );
    expect(["..", "../../x", "CON", ".git", "a\nb"].map(pageFile)).toEqual([
      ...["%2E%2E.md", "%2E.___..___x.md", "%43ON.md", "%2Egit.md", "a%0Ab.md"],
    ]);
    // Otherwise both would be the file ____.md.
    expect(["_/", "/_"].map(pageFile)).toEqual(["%5F___.md", "___%5F.md"]);
    expect(() => pageFile("x".repeat(300))).toThrow("this is not a valid page name");
    expect(() => pageFile("  ")).toThrow("this is not a valid page name");
  });

  it("A page is never written through a link or into a pipe", async () => {
    mkdirSync(join(folder.path, "pages"));
    const outside = join(folder.path, "outside");
    writeFileSync(outside, "theirs");
    symlinkSync(outside, join(folder.path, "pages", "linked.md"));
    symlinkSync(join(folder.path, "made"), join(folder.path, "pages", "dangling.md"));
    execFileSync("mkfifo", [join(folder.path, "pages", "pipe.md")]);
    for (const name of ["linked", "dangling", "pipe"])
      expect(await vault().append(name, "a#1", "x"), name).toMatch(/./);
    expect(readFileSync(outside, "utf8")).toBe("theirs");
    expect(existsSync(join(folder.path, "made"))).toBe(false);
  });

  it("The reason is returned if the folder cannot be written", async () => {
    writeFileSync(join(folder.path, "pages"), "");
    expect(await vault().append("log", "a#1", "x")).toMatch(/EEXIST|ENOTDIR/);
  });
});

describe("a block", () => {
  it("A block holds its text only as code, whatever fences and links are in it", () => {
    const hostile =
      "```\n[[page]] {{query all}} ![](https://evil.example/x.png)\nid:: 1\n````\n~~~~\n- block\u202e\u0007";
    const lines = blockOf("x `{{query}}`", hostile, at).split("\n");
    const fences = lines.flatMap((line, index) => (/^\s*(`{3}|~{3})/.test(line) ? [index] : []));
    expect(fences).toEqual([1, lines.length - 2]);
    expect(lines.slice(1, -1).every((line) => line.startsWith("  "))).toBe(true);
    expect(lines[0]).toContain("`` x `{{query}}` ``");
    expect(lines.join("\n")).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
  });
});
