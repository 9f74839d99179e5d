import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRuleMatcher } from "../../src/border/rule-matcher.ts";
import { confinement, ruleConfinement, startRuleProcess } from "../../src/border/start-process.ts";
import { parseRuleFiles } from "../../src/tasks/rules/own/rule-files.ts";
import { TempFolder } from "../support/git-repo.ts";
import { below, stillRunning } from "../support/processes.ts";
import { deadlyRule, longText, slowRule } from "../tasks/rules/own/rule-samples.ts";

const signal = new AbortController().signal;
let folder: TempFolder;
beforeAll(() => {
  folder = new TempFolder("rules");
});
afterAll(() => folder[Symbol.dispose]());

const configOf = async (text: string) => (await parseRuleFiles([{ path: "a", text }])).rules[0]?.config ?? {};

describe("the process that matches a repository's own rules", () => {
  it("The process that matches a repository's own rules reads only the program", () => {
    const secret = join(folder.path, "secret");
    const written = join(folder.path, "written");
    writeFileSync(secret, "secret");
    const script = `
      const { readFileSync, writeFileSync } = require("node:fs");
      const { spawnSync } = require("node:child_process");
      const answers = [
        () => readFileSync(${JSON.stringify(secret)}, "utf8"),
        () => readFileSync("/proc/" + process.ppid + "/environ", "utf8"),
        () => readFileSync("/proc/self/environ", "utf8"),
        () => writeFileSync(${JSON.stringify(written)}, "x"),
        () => spawnSync("/bin/true").error?.code ?? "started",
        () => readFileSync(${JSON.stringify(join(import.meta.dirname, "../../package.json"))}, "utf8").length > 0,
      ].map((work) => { try { return String(work()).slice(0, 7); } catch (error) { return error.code; } });
      console.log(JSON.stringify(answers));`;
    const answers = (args: string[]) =>
      JSON.parse(execFileSync(process.execPath, [...args, "-e", script], { env: {}, encoding: "utf8" }));
    expect(answers([]).slice(0, 5)).not.toContain("ERR_ACCESS_DENIED");
    expect(answers(ruleConfinement())).toEqual([...Array(5).fill("ERR_ACCESS_DENIED"), "true"]);
  });

  it("The rule process is confined and has an empty environment", async () => {
    const program = `
      import { startRuleProcess } from ${JSON.stringify(join(import.meta.dirname, "../../src/border/start-process.ts"))};
      const { child, ended } = startRuleProcess();
      child.once("message", (answer) => process.send({ answer, pid: child.pid, args: child.spawnargs }));
      process.once("message", () => child.kill("SIGKILL"));
      ended.then(() => process.disconnect());`;
    const entry = join(folder.path, "parent.mjs");
    writeFileSync(entry, program);
    const child = fork(entry, [], {
      env: { SECRET: "canary" },
      execArgv: confinement([folder.path]),
    });
    const [{ answer, pid, args }] = await once(child, "message");
    expect(answer).toEqual({ type: "ready" });
    expect(args).toEqual(expect.arrayContaining(ruleConfinement()));
    expect(args.join(" ")).not.toContain("--allow-child-process");
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toMatch(/canary|--allow/);
    child.send("end");
    await once(child, "exit");
  });

  it("The process that matches a repository's own rules is killed where a rule takes too long", async () => {
    for (const [text, rule, expected, how] of [
      [longText, slowRule("slow"), "slow", "ended with SIGKILL"],
      ["f(1);\n", deadlyRule("deadly"), "died", "ended with SIGSEGV"],
    ] as const) {
      const started = startRuleProcess();
      using matcher = startRuleMatcher(() => started);
      await matcher.ask({ type: "open", dialect: "TypeScript", text, lines: [1] }, 60_000, signal);
      const config = await configOf(rule);
      const limit = expected === "slow" ? 300 : 60_000;
      const answer = await matcher.ask({ type: "match", config, variables: [] }, limit, signal);
      expect(answer).toEqual({ type: expected });
      matcher[Symbol.dispose]();
      expect(await started.ended).toBe(how);
    }
  });

  it("The process that matches a repository's own rules ends soon after its parent was killed", async () => {
    const src = join(import.meta.dirname, "../../src");
    const program = `
      import { startRuleMatcher } from ${JSON.stringify(join(src, "border/rule-matcher.ts"))};
      const { signal } = new AbortController();
      const matcher = startRuleMatcher();
      const text = ${JSON.stringify(longText)};
      await matcher.ask({ type: "open", dialect: "TypeScript", text, lines: [1] }, 60000, signal);
      process.send("matching");
      await matcher.ask({ type: "match", config: ${JSON.stringify(await configOf(slowRule("slow")))}, variables: [] }, 600000, signal);`;
    const entry = join(folder.path, "killed.mjs");
    writeFileSync(entry, program);
    const child = fork(entry, [], { env: {}, execArgv: [] });
    await once(child, "message");
    const started = below(child.pid);
    expect(started).toHaveLength(1);
    child.kill("SIGKILL");
    await once(child, "exit");
    await expect.poll(() => stillRunning(started)).toEqual([]);
  });
});
