import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolveFile, resolveFileOrFolder, resolveFolder } from "../../../src/agent/tools/paths.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { openRepository, type TestTools, toolsOn } from "./context.ts";

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
let tools: TestTools;

beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", {
    "src/old.ts": "export const moved = 1;\nexport const kept = 2;\n",
    "src/gone.ts": "gone\n",
  });
  repo.branch("topic");
  repo.git("mv", "src/old.ts", "src/new.ts");
  repo.commit("head", {
    "src/gone.ts": null,
    "src/parser.ts": "parser\n",
    "src/render.ts": "render\n",
    "test/parser.ts": "test\n",
    "README.md": "readme\n",
    "a/b\\c.txt": "backslash\n",
    "odd\tname\n.txt": "odd\n",
    "zero\u200Bwidth.txt": "zero\n",
    "cafe\u0301.txt": "decomposed\n",
    "plain/.github/x.yml": "x\n",
    "secrets/key.ts": "SECRET\n",
    link: { mode: "120000", data: "src/parser.ts" },
    linked: { mode: "120000", data: "src" },
  });
  repo.importCommits([
    {
      branch: "topic",
      files: [
        ["sub", { mode: "160000", data: "1".repeat(40) }],
        ["link2", { mode: "120000", data: "/etc/passwd" }],
      ],
    },
  ]);
  opened = await openRepository(repo);
  tools = toolsOn(opened.workspace, { private: ["secrets/**"] });
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

const file = (path: string, ref: "head" | "base" | "merge_base" = "head") =>
  resolveFile(path, ref, tools.context);
const refusal = (path: string) =>
  file(path).then(
    () => "accepted",
    (error: Error) => error.message,
  );

describe("resolveFile", () => {
  it.each([
    ["a plain path", "src/parser.ts", "src/parser.ts"],
    ["a leading ./", "./src/parser.ts", "src/parser.ts"],
    ["doubled slashes", "src//parser.ts", "src/parser.ts"],
    ["a backslash that is part of the name", "a/b\\c.txt", "a/b\\c.txt"],
    ["control characters of the name", "odd\tname\n.txt", "odd\tname\n.txt"],
    ["a name as renderings quote it", '"odd\\tname\\n.txt"', "odd\tname\n.txt"],
    ["a name as renderings escape it", "zero\\u{200B}width.txt", "zero\u200Bwidth.txt"],
    ["a name in another Unicode normalization", "caf\u00E9.txt", "cafe\u0301.txt"],
    ["a folder whose name begins like .git", "plain/.github/x.yml", "plain/.github/x.yml"],
  ])("resolveFile accepts %s", async (_, given, path) => expect((await file(given)).path).toBe(path));

  it("resolveFile accepts an absolute path inside the checkout", async () => {
    expect((await file(`${tools.workspace.root}/src/parser.ts`)).path).toBe("src/parser.ts");
    expect((await file(`${tools.workspace.root}//./src/parser.ts`)).path).toBe("src/parser.ts");
  });

  it("resolveFile accepts an absolute path inside the repository as whoever asks knows it", async () => {
    const context = { ...tools.context, alsoRoots: ["/home/ada/shop"] };
    const ask = (given: string) => resolveFile(given, "head", context);
    expect((await ask("/home/ada/shop/src/parser.ts")).path).toBe("src/parser.ts");
    await expect(ask("/home/ada/shop-other/src/parser.ts")).rejects.toThrow(/outside the repository/);
    await expect(ask("/home/ada/shop/../shop/src/parser.ts")).rejects.toThrow(/holds '\.\.'/);
    await expect(ask("/home/ada/shop/.git/config")).rejects.toThrow(/inside \.git/);
  });

  it("resolveFile finds what other revisions have", async () => {
    expect((await file("src/old.ts", "merge_base")).path).toBe("src/old.ts");
  });

  it.each([
    ["nothing", "", /the path is empty/],
    ["blanks", "  ", /the path is empty/],
    ["an absolute path elsewhere", "/etc/passwd", /outside the repository/],
    ["a neighbor of the checkout", "ROOT-other/x", /outside the repository/],
    ["a way up", "../secret", /holds '\.\.'/],
    ["a way up and down", "src/../src/parser.ts", /holds '\.\.'/],
    ["a way up behind the root", "ROOT/../x", /holds '\.\.'/],
    ["an escaped way up", "\\u{2E}\\u{2E}/x", /holds '\.\.'/],
    ["a quoted way up", '"../x"', /holds '\.\.'/],
    ["a NUL", "src/parser.ts\0.png", /NUL/],
    [".git", ".git/config", /inside \.git/],
    [".GIT", ".GIT/config", /inside \.git/],
    [".git with a blank and a dot", "a/.git ./config", /inside \.git/],
    ["git~1", "git~1/config", /inside \.git/],
    [".git by its absolute path", "ROOT/.git/HEAD", /inside \.git/],
    ["backslashes for slashes", "src\\parser.ts", /separated by '\/'.*did you mean 'src\/parser\.ts'/],
    ["backslashes on the way up", "..\\..\\etc\\passwd", /holds '\.\.'/],
    [".git behind a backslash", "a\\.git\\config", /inside \.git/],
    [".git as a stream of NTFS", ".git::$INDEX_ALLOCATION/config", /inside \.git/],
    [".git with a character that HFS+ leaves out", ".g\u200cit/config", /inside \.git/],
    ["percent escapes", "%2e%2e/%2e%2e/etc/passwd", /no such file/],
    ["a URL", "file:///etc/passwd", /no such file/],
    ["an option", "--output=x", /no such file/],
    ["a pathspec", ":(exclude)src", /no such file/],
    ["a symbolic link", "link", /symbolic link.*not followed/],
    ["a link that leads out", "link2", /symbolic link.*not followed/],
    ["a path through a link", "linked/parser.ts", /'linked' is a symbolic link/],
    ["a submodule", "sub", /submodule at commit 1{40}/],
    ["a path into a submodule", "sub/a.c", /'sub' is a submodule/],
    ["a path below a file", "README.md/x", /'README\.md' is a file, not a folder/],
    ["a folder", "src", /is a folder; list_files/],
    ["the root", ".", /is a folder; list_files/],
    ["a private file", "secrets/key.ts", /withheld by configuration/],
    ["a private file that is not there", "secrets/other.ts", /withheld by configuration/],
    ["a path that is too long", "a/".repeat(3_000), /longer than 4096/],
  ])("resolveFile refuses %s in words", async (_, given, words) => {
    expect(await refusal(given.replace("ROOT", tools.workspace.root))).toMatch(words);
  });

  it.each([
    ["the same name elsewhere", "lib/parser.ts", /did you mean 'src\/parser\.ts' or 'test\/parser\.ts'\?/],
    ["another case", "SRC/Parser.ts", /did you mean 'src\/parser\.ts'/],
    ["a typing error", "src/parsr.ts", /did you mean 'src\/parser\.ts'/],
    ["a file that the change deleted", "src/gone.ts", /it exists at base: pass that as ref/],
    ["a file that the change renamed", "src/old.ts", /It is now 'src\/new\.ts'/],
  ])("resolveFile suggests what was meant: %s", async (_, given, words) =>
    expect(await refusal(given)).toMatch(words),
  );

  it("resolveFile suggests no private file", async () =>
    expect(await refusal("src/key.ts")).not.toContain("secrets"));

  it("resolveFile suggests nothing for what resembles nothing", async () => {
    expect(await refusal("completely/unrelated.xyz")).toBe("no such file 'completely/unrelated.xyz' at head");
  });
});

describe("resolveFolder", () => {
  it.each([
    [".", ""],
    ["/", "refused"],
    ["./", ""],
    ["src/", "src"],
    ["plain/.github", "plain/.github"],
  ])("resolveFolder takes %j", async (given, folder) => {
    const found = await resolveFolder(given, tools.context).catch(() => "refused");
    expect(found).toBe(folder);
  });

  it.each([
    ["README.md", /is a file, not a folder/],
    ["secrets", /withheld by configuration/],
    ["linked", /symbolic link/],
    ["sub", /submodule/],
    ["nowhere", /no such/],
  ])("resolveFolder refuses %s in words", async (given, words) => {
    const answer = await resolveFolder(given, tools.context).then(
      () => "accepted",
      (error: Error) => error.message,
    );
    expect(answer).toMatch(words);
  });
});

describe("resolveFileOrFolder", () => {
  it("resolveFileOrFolder takes either", async () => {
    expect(await resolveFileOrFolder("src", tools.context)).toBe("src");
    expect(await resolveFileOrFolder("src/parser.ts", tools.context)).toBe("src/parser.ts");
    await expect(resolveFileOrFolder("secrets/key.ts", tools.context)).rejects.toThrow("withheld");
  });
});
