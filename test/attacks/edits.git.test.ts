import { globSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openObjects } from "../../src/repo/git/object-workspace.ts";
import { openOverlay } from "../../src/repo/git/overlay-workspace.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import type { EditableWorkspace, SearchHits, Workspace } from "../../src/repo/git/workspace.ts";
import { type TestTools, toolsOn } from "../agent/tools/context.ts";
import { query, Sentinel } from "../support/every-way.ts";
import { type Content, GitRepo, gitPath, TempFolder } from "../support/git-repo.ts";
import { toolFiles } from "./git-vectors.ts";

let sentinel: Sentinel;
let temp: TempFolder;
let outside: TempFolder;
const { TMPDIR } = process.env;
beforeEach(() => {
  sentinel = new Sentinel();
  outside = new TempFolder("outside");
  // Only scratch folders are made here.
  temp = new TempFolder("scratch");
  process.env.TMPDIR = temp.path;
});
afterEach(() => {
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  for (const one of [sentinel, temp, outside]) one[Symbol.dispose]();
});

/** Files that would make git and ripgrep start a program, change bytes, or hide files. */
function obeyed({ command }: Sentinel): Record<string, string> {
  const all = "* filter=evil diff=evil merge=evil ident text eol=crlf working-tree-encoding=UTF-16 -diff\n";
  const drivers = ["filter", "diff", "merge"].map(
    (kind) =>
      `[${kind} "evil"]\n\tsmudge = ${command}\n\tclean = ${command}\n\tprocess = ${command}\n\trequired\n\tcommand = ${command}\n\ttextconv = ${command}\n\tdriver = ${command}\n`,
  );
  const config = `[core]\n\tfsmonitor = ${command}\n\thooksPath = hooks\n\tsshCommand = ${command}\n${drivers.join("")}`;
  return {
    ".gitattributes": all,
    "src/.gitattributes": all,
    ".gitmodules": `[submodule "src"]\n\tpath = src\n\turl = ext::${command}\n\tupdate = !${command}\n`,
    ".gitconfig": config,
    ".lfsconfig": `[lfs]\n\turl = ext::${command}\n`,
    ".gitignore": "*\n",
    ".ignore": "*\n",
    ".rgignore": "*\n",
    "src/.rgignore": "*\n",
    ".ripgreprc": `--pre=${command}\n--max-count=0\n`,
    // Files that look like a bare repository.
    HEAD: "ref: refs/heads/main\n",
    config,
    "info/attributes": all,
    "hooks/post-checkout": readFileSync(command, "utf8"),
    "hooks/post-index-change": readFileSync(command, "utf8"),
    "objects/info/alternates": `${outside.path}\n`,
    "refs/heads/main": "0".repeat(40),
  };
}

const code = "/* $Id$ */\nexport const needle = 1;\n";

/** The workspace of `main..topic` with edits on top, and the tools that make them. */
async function onEdits(
  files: readonly (readonly [string, Content])[],
  use: (tools: TestTools, edits: EditableWorkspace, below: Workspace) => Promise<void>,
): Promise<void> {
  using repo = GitRepo.create({ bare: true });
  repo.importCommits([
    { branch: "main", files: [["src/a.ts", "export const a = 1;\n"]] },
    { branch: "topic", parents: ["main"], files },
  ]);
  await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
  await using below = openObjects(range.place);
  await using edits = openOverlay(below, range.place);
  await use(toolsOn(edits, { edit: edits }), edits, below);
}

const pathsOf = (hits: SearchHits) => (hits.mode === "files_with_matches" ? hits.paths : []);
const search = async (workspace: Workspace) =>
  pathsOf(await workspace.search({ ...query, mode: "files_with_matches" }, AbortSignal.timeout(60_000)));

/** Every file in the scratch folders except git's own. */
const copies = () =>
  globSync("**/*", { cwd: temp.path, withFileTypes: true }).filter(
    (entry) => !entry.isDirectory() && !entry.parentPath.includes("repository.git"),
  );

describe("files that git and ripgrep obey", () => {
  it("edited-settings: Settings of git and ripgrep are plain text when the editing tools write them", async () => {
    const head = [["src/b.ts", code] as const, ["ignored/c.ts", "needle\n"] as const];
    await onEdits(head, async (tools, edits) => {
      const hostile = obeyed(sentinel);
      for (const [path, content] of Object.entries(hostile))
        await tools.output("write_file", { path, content });
      await tools.output("write_file", { path: "src/b.ts", content: `${code}// needle, again\n` });
      // The tool ends the lines of a new file with line feeds; a file of the pull request may have other line ends.
      await edits.write("src/.hidden/d.ts", Buffer.from("needle\r\n$Id$\r\n"));

      expect(await search(edits)).toEqual(["ignored/c.ts", "src/.hidden/d.ts", "src/b.ts"]);
      const lines = await edits.search({ ...query, pattern: "$Id$" }, AbortSignal.timeout(60_000));
      expect(lines.mode === "content" && lines.matches.map(({ text }) => text)).toEqual([
        "$Id$\r",
        "/* $Id$ */",
      ]);
      const listed = await tools.output<string[]>("list_files", {});
      expect(listed).toEqual(expect.arrayContaining([...Object.keys(hostile), "src/.hidden/d.ts"]));

      const changes = await edits.changes();
      const patchOf = async (path: string) =>
        await edits.patch(
          changes.find((one) => one.path === path) ?? expect.fail(`${path} has not changed`),
          3,
        );
      expect(await patchOf("src/b.ts")).toContain(
        "+/* $Id$ */\n+export const needle = 1;\n+// needle, again\n",
      );
      expect(await patchOf("src/.hidden/d.ts")).toContain("+needle\r\n+$Id$\r\n");
      for (const [path, content] of Object.entries(hostile))
        expect((await edits.read(path)).toString()).toBe(content);
      expect(sentinel.starts).toBe("nothing ran");
    });
    expect(readdirSync(temp.path)).toEqual([]);
  });

  it("edited-settings: Settings that a commit adds without a checkout are not obeyed either", async () => {
    const head = [
      ...Object.entries({ ...toolFiles(sentinel), ...obeyed(sentinel) }),
      ["src/b.ts", code] as const,
    ];
    await onEdits(head, async (_, __, objects) => {
      expect(await search(objects)).toEqual(["src/b.ts"]);
      const written = copies().find(({ name }) => name === "b.ts");
      expect(readFileSync(join(written?.parentPath ?? "", "b.ts"), "utf8")).toBe(code);
      expect(sentinel.starts).toBe("nothing ran");
    });
    expect(readdirSync(temp.path)).toEqual([]);
  });
});

/** Names that some file system treats as `.git`. */
const gitFolders = [
  ...[".git", ".GIT", ".gIt", ".git ", ".git.", ".git. .", "git~1", "GIT~1", "git~2", ".git\\"],
  ...[".g\u200cit", ".git\u200d", "\ufeff.git", ".gi\u202et", ".git::$INDEX_ALLOCATION", ".git:x"],
];

describe("places that no edit may reach", () => {
  it.each(gitFolders)("edited-places: The editing tools do not write %j", async (name) => {
    await onEdits([["src/b.ts", code]], async (tools, edits) => {
      for (const path of [name, `${name}/config`, `src/${name}/hooks/post-checkout`, `./${name}/HEAD`]) {
        const to = { source_path: "src/b.ts", destination_path: path, overwrite: true };
        await tools.error("write_file", { path, content: "x" });
        await tools.error("copy_file", to);
        await tools.error("move_file", to);
      }
      expect(await edits.edits()).toEqual([]);
      expect(await search(edits)).toEqual(["src/b.ts"]);
    });
  });

  it("edited-places: A path that is not a tree entry is refused", async () => {
    await onEdits([["src/b.ts", code]], async (_, edits) => {
      for (const path of ["", "a//b", "./a", "a/./b", "a/", "/a", "../a"])
        await expect(edits.write(path, Buffer.from(code))).rejects.toMatchObject({ code: "not_allowed" });
      expect(await edits.edits()).toEqual([]);
    });
  });

  it("edited-places: The target of a committed link is neither written nor read, and nothing leaves the scratch folder", async () => {
    const links = { link: join(outside.path, "file"), "to-folder": outside.path };
    const head = [
      ["src/b.ts", code] as const,
      ...Object.entries(links).map(([path, data]) => [path, { mode: "120000", data }] as const),
    ];
    await onEdits(head, async (tools, edits, below) => {
      for (const path of [
        "link",
        "to-folder",
        "to-folder/planted",
        "../planted",
        `${outside.path}/planted`,
      ]) {
        await tools.error("write_file", { path, content: "needle" });
        await tools.error("move_file", { source_path: "src/b.ts", destination_path: path, overwrite: true });
      }
      for (const path of Object.keys(links)) await tools.error("delete_file", { path });
      await tools.output("write_file", { path: "src/c.ts", content: "needle\n" });

      expect(await search(edits)).toEqual(["src/b.ts", "src/c.ts"]);
      expect(await search(below)).toEqual(["src/b.ts"]);
      expect(readdirSync(outside.path)).toEqual([]);
      for (const { parentPath, name } of copies())
        expect([name, lstatSync(join(parentPath, name)).isSymbolicLink()]).toEqual([name, false]);
    });
    expect(readdirSync(temp.path)).toEqual([]);
  });
});
