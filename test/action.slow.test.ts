import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeActionTree } from "../scripts/action-tree.ts";
import { type ActionCase, onAction } from "./e2e/action-fixture.ts";
import { finding, finish, numbers, turn } from "./e2e/conformance-fixture.ts";
import { actionFile } from "./support/action-runner.ts";
import { TempFolder } from "./support/git-repo.ts";

const root = join(import.meta.dirname, "..");
const base = { "src/numbers.js": numbers(40) };
const head = { "src/numbers.js": numbers(40, { 3: "const n3 = 4;" }) };
const script = () => turn(finding({ line: 3, quote: "const n3 = 4;" }), finish);
const change = { base, head, script };

/** Copies the files of the repository, as a runner downloads an action. */
function download(folder: string): void {
  const listed = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  for (const file of listed.split("\0").filter((one) => one !== "" && existsSync(join(root, one)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
}

/** Prints how long it took, for docs/action.md. */
async function timed<Value>(what: string, play: () => Value | Promise<Value>): Promise<Value> {
  const began = performance.now();
  const value = await play();
  console.info(`${what}: ${((performance.now() - began) / 1000).toFixed(2)} s`);
  return value;
}

async function reviews(one: ActionCase, how: object): Promise<void> {
  const reviewed = await timed("a review", () => one.on("pull_request_target", "opened", how));
  expect(reviewed.log + reviewed.code).toMatch(/0$/);
  expect(one.written()).toMatchObject({ comments: ["src/numbers.js RIGHT 3"], summaries: 1 });
}

describe("action.yml in a clean folder", () => {
  it("action.yml installs from the lock file and reviews without development packages", async () => {
    using folder = new TempFolder("action");
    download(folder.path);
    const install = actionFile.runs.steps.find(({ run }) => run?.includes("npm ci"))?.run ?? "";
    const env = {
      // The Node of the step before, and the machine's npm.
      PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
      HOME: process.env.HOME ?? "",
      ...Object.fromEntries(
        Object.entries(process.env).filter(([name]) =>
          /^npm_config_|_proxy$|^NODE_EXTRA_CA_CERTS$/i.test(name),
        ),
      ),
    };
    const shell = ["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", install];
    const done = await timed("installed and built", () =>
      spawnSync("bash", shell, { cwd: folder.path, env, encoding: "utf8" }),
    );
    expect(done.status, done.stdout + done.stderr).toBe(0);
    const packages = readdirSync(join(folder.path, "node_modules"));
    expect(packages.filter((name) => ["vitest", "openai", "rolldown"].includes(name))).toEqual([]);
    await onAction(change, (one) => reviews(one, { actionPath: folder.path, unbuilt: true }));
  });
});

describe("the tree of a released commit", () => {
  it.skipIf(spawnSync("strace", ["-V"]).error !== undefined)(
    "A released commit connects to GitHub and the model only, and ends early on a comment that is no command",
    async () => {
      using folder = new TempFolder("action");
      const tree = join(folder.path, "tree");
      await timed("made the tree", () => makeActionTree(tree));
      // Each other package is a part of one of these, and has its license.
      const packages = globSync("node_modules/{@*/*,[^@]*}/LICENSE", { cwd: tree }).map(dirname);
      const unlicensed = globSync("node_modules/{@*/*,[^@]*}/package.json", { cwd: tree })
        .map(dirname)
        .filter((name) => !packages.some((one) => name === one || name.startsWith(`${one}-`)));
      expect(unlicensed).toEqual([]);
      await onAction(change, async (one) => {
        const { github, model } = one;
        const first = timed("the first request to GitHub", () =>
          github.until(() => github.requests.length > 0),
        );
        await reviews(one, { actionPath: tree });
        await first;
        const spoken = await timed("a comment that is no command", () =>
          one.comment("octocat", "Nice work", { actionPath: tree }),
        );
        expect(spoken.summary).toContain("a comment without a command");
        one.wipe();
        const record = join(folder.path, "connections");
        const under = ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o", record];
        await one.on("pull_request_target", "reopened", { actionPath: tree, under });
        const hosts = readFileSync(record, "utf8").matchAll(/sin6?_port=htons\((\d+)\).*?"([\da-f.:]+)"/g);
        const seen = new Set([...hosts].map(([, port, host]) => `${host}:${port}`));
        const allowed = [github.apiUrl, model.url].map((url) => new URL(url).host);
        expect([...seen].sort()).toEqual(allowed.sort());
      });
    },
  );
});
