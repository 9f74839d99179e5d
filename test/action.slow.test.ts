import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { onAction } from "./e2e/action-fixture.ts";
import { finding, finish, numbers, turn } from "./e2e/conformance-fixture.ts";
import { actionFile } from "./support/action-runner.ts";
import { TempFolder } from "./support/git-repo.ts";

const root = join(import.meta.dirname, "..");
const base = { "src/numbers.js": numbers(40) };
const head = { "src/numbers.js": numbers(40, { 3: "const n3 = 4;" }) };
const script = [turn(finding({ line: 3, quote: "const n3 = 4;" }), finish)];

/** Copies the files of the repository, as a runner downloads an action. */
function download(folder: string): void {
  const listed = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  for (const file of listed.split("\0").filter((one) => one !== "" && existsSync(join(root, one)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
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
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^npm_config_/i.test(name))),
    };
    const began = Date.now();
    const shell = ["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", install];
    const done = spawnSync("bash", shell, { cwd: folder.path, env, encoding: "utf8" });
    expect(done.status, done.stdout + done.stderr).toBe(0);
    console.info(`installed and built in ${Math.round((Date.now() - began) / 1000)} s`);
    const packages = readdirSync(join(folder.path, "node_modules"));
    expect(packages.filter((name) => ["vitest", "openai", "rolldown"].includes(name))).toEqual([]);
    await onAction({ base, head, script }, async (one) => {
      const reviewed = await one.on("pull_request_target", "opened", { actionPath: folder.path });
      expect(reviewed.log + reviewed.code).toMatch(/0$/);
      expect(one.written()).toMatchObject({ comments: ["src/numbers.js RIGHT 3"], summaries: 1 });
    });
  });
});
