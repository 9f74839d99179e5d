import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { commands } from "../../src/cli/program.ts";
import { TempFolder } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-program.ts";
import { faultyRepo } from "./sample-repo.ts";

describe("The program hunkwise", () => {
  it("The program prints its help and its version", async () => {
    const help = await runHere(["--help"]);
    expect(help.code).toBe(0);
    for (const { name } of commands) expect(help.stdout).toMatch(new RegExp(`^ {2}${name} {2}`, "m"));
    expect(await runCli(["--version"])).toMatchObject({ code: 0, stdout: `${packageJson.version}\n` });
  });

  it("The program prints its help on stderr and exits with 2 without a command", async () => {
    const run = await runCli([]);
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain("Usage: hunkwise COMMAND");
  });

  it("The program answers an unknown command or option with one line and the nearest one", async () => {
    expect(await runCli(["reveiw"])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "hunkwise: unknown command 'reveiw'. Did you mean review?\n",
    });
    expect(await runHere(["quantify"])).toMatchObject({
      code: 2,
      stderr: "hunkwise: unknown command 'quantify'. See 'hunkwise --help'.\n",
    });
    expect(await runHere(["--vesion"])).toMatchObject({
      code: 2,
      stderr: "hunkwise: unknown option '--vesion'. Did you mean --version?\n",
    });
  });

  it("The program prints a command's help, also by `help COMMAND`", async () => {
    const run = await runHere(["help", "review"]);
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain("Usage: hunkwise review [options]");
    expect((await runHere(["review", "--help"])).stdout).toBe(run.stdout);
  });

  it("The program works where npm was called, and names the repository first", async () => {
    using repo = faultyRepo();
    const own = join(import.meta.dirname, "../..");
    const npm = { npm_lifecycle_event: "hunkwise", npm_package_json: join(own, "package.json") };
    const options = { entry: join(own, "src/cli.ts"), cwd: own, env: { ...npm, INIT_CWD: repo.dir } };
    const run = await runCli(["review", "--base", "main", "--output", "out.md"], options);
    expect(run.code).toBe(1);
    const report = readFileSync(join(repo.dir, "out.md"), "utf8");
    expect(report).toMatch(/^## Hunkwise \(offline\): 1 high in `hunkwise-repo-\w+`\n/);
  });

  it("The program exits with 2 if it cannot be loaded, because 1 would mean a finding", async () => {
    using folder = new TempFolder("broken");
    const entry = join(folder.path, "cli.mts");
    copyFileSync(join(import.meta.dirname, "../../src/cli.ts"), entry);
    const { code, stderr } = await runCli(["--version"], { entry });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("hunkwise: the program cannot be loaded: Error"),
    ]);
  });

  it("The program's help has at most 100 columns, with an example for every command", async () => {
    for (const { name } of commands) {
      const { stdout } = await runHere([name, "--help"]);
      const prose = stdout.slice(0, stdout.indexOf("\nExamples:"));
      expect(prose.split("\n").filter((line) => line.length > 100)).toEqual([]);
      expect(stdout).toMatch(/\nExamples:\n {2}# .+\n {2}.*hunkwise /);
    }
  });
});
