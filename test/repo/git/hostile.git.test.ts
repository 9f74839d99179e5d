import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import { everyWay, query, review, Sentinel } from "../../support/every-way.ts";
import { GitRepo, gitPath } from "../../support/git-repo.ts";

let sentinel: Sentinel;
beforeEach(() => {
  sentinel = new Sentinel();
});
afterEach(() => sentinel[Symbol.dispose]());

describe("the reviewed files", () => {
  it("The reviewed files are the blobs byte for byte, whatever attributes ask for", async () => {
    const attributes = "* ident eol=crlf text=auto working-tree-encoding=UTF-16\n*.bin binary\n";
    const files = { "a.c": "$Id$\r\nneedle\n", "b.txt": "needle\n", "c.bin": "needle\n" };
    await everyWay(sentinel, {}, { ".gitattributes": attributes, ...files }, async (place) => {
      if (place.isCheckedOut)
        for (const [path, text] of Object.entries(files))
          expect(readFileSync(join(place.root, path), "utf8")).toBe(text);
      const seen = await review(place);
      expect(seen.found).toEqual(["a.c", "b.txt", "c.bin"]);
      expect(seen.texts).toMatchObject(files);
    });
  });

  it("Attributes and ignore files hide no reviewed file", async () => {
    const hiding = {
      ".gitattributes": "* -diff binary linguist-generated\n",
      ".ignore": "*\n",
      ".rgignore": "*\n",
      ".gitignore": "*\n",
    };
    await everyWay(
      sentinel,
      { "a.js": "old\n" },
      { "a.js": "needle\n", ".hidden/b.js": "needle\n", ...hiding },
      async (place) => {
        const seen = await review(place);
        expect(seen.patches["a.js"]).toContain("-old\n+needle\n");
        expect(seen.changes.find((one) => one.path === "a.js")?.additions).toBe(1);
        expect(seen.found).toEqual([".hidden/b.js", "a.js"]);
      },
    );
  });

  it("The reviewed files do not lead out of the tree", async () => {
    const secret = join(sentinel.folder.path, "secret.txt");
    writeFileSync(secret, "needle\n");
    const links = {
      absolute: { mode: "120000", data: secret },
      folder: { mode: "120000", data: sentinel.folder.path },
      up: { mode: "120000", data: "../../../../../.." },
      needle: { mode: "120000", data: "needle" },
    } as const;
    await everyWay(sentinel, {}, { ...links, "real.txt": "needle\n" }, async (place) => {
      if (place.isCheckedOut)
        for (const name of Object.keys(links)) expect(lstatSync(join(place.root, name)).isFile()).toBe(true);
      const seen = await review(place);
      expect(seen.found).toEqual(["real.txt"]);
      expect(seen.texts.absolute).toBe(secret);
    });
  });

  it("The reviewed files may be named like options and like git's magic", async () => {
    const names = [
      "--output=executed",
      "-O",
      ":(exclude)a",
      "--pre=sh",
      "a\nb",
      "é",
      "{a,b}",
      "!x",
      "-",
      "--",
      "*",
    ];
    const files = Object.fromEntries(names.map((name) => [name, "needle\n"]));
    await everyWay(sentinel, {}, files, async (place) => {
      const seen = await review(place);
      expect(seen.found.sort()).toEqual(names.sort());
      expect(Object.keys(seen.texts).sort()).toEqual(names.sort());
      await using workspace = openWorkspace(place);
      for (const path of names) {
        const hits = await workspace.search({ ...query, path }, AbortSignal.timeout(20_000));
        expect(hits).toMatchObject({ matches: [{ path, line: 1 }] });
      }
    });
  });
});

describe("the repository under review", () => {
  it("The repository under review is not written to", async () => {
    using repo = GitRepo.create();
    repo.commit("base", { "a.txt": "a\n" });
    repo.branch("topic");
    repo.commit("head", { "a.txt": "b\n" });
    mkdirSync(join(repo.dir, "sub"));
    writeFileSync(join(repo.dir, "a.txt"), "b\n");
    const snapshot = () =>
      readdirSync(repo.dir, { recursive: true, withFileTypes: true })
        .map((one) => join(one.parentPath, one.name))
        .map((path) => `${path} ${lstatSync(path).mtimeMs} ${lstatSync(path).size}`);
    const before = snapshot();
    await using range = await openLocalRange({
      repo: join(repo.dir, "sub"),
      base: "main",
      head: "HEAD",
      gitPath,
    });
    await review(range.place);
    expect(range.dirty).toBe(false);
    expect(snapshot()).toEqual(before);
  });
});
