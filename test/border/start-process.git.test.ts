import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { getPriority } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { runTask } from "../../src/border/run-task.ts";
import { confinement, type StartedProcess, startReviewProcess } from "../../src/border/start-process.ts";
import type { RevisionPlace } from "../../src/repo/git/workspace.ts";
import { reviewTask } from "../../src/tasks/review/review-task.ts";
import { placeOf } from "../support/checkout-place.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";
import { reviewInput } from "../support/review-input.ts";

describe("a process started before its review", () => {
  let repo: GitRepo;
  let placed: Disposable & { place: RevisionPlace };

  beforeAll(async () => {
    repo = GitRepo.create();
    repo.commit("before", { "a.js": "a();\n" });
    repo.git("tag", "base");
    repo.commit("after", { "a.js": "debugger;\na();\n" });
    placed = await placeOf(repo, "base");
  });
  afterAll(() => {
    placed[Symbol.dispose]();
    repo[Symbol.dispose]();
  });

  const review = (started: StartedProcess) =>
    runTask(reviewTask, reviewInput({ models: null }), {
      place: placed.place,
      models: null,
      trajectory: { append: async () => {} },
      onProgress() {},
      signal: new AbortController().signal,
      started,
    });

  it("A process started before its review reviews, and ends with the review", async () => {
    const started = startReviewProcess();
    const result = await review(started);

    expect(result.findings.map(({ finding }) => [finding.path, finding.line])).toEqual([["a.js", 1]]);
    expect(await started.ended).toBe("ended with SIGKILL");
  });

  it("A process started before its review reviews also when it was ready long before", async () => {
    const started = startReviewProcess();
    // What it says while nobody listens must not be lost.
    await new Promise((resolve) => setTimeout(resolve, 1_500));

    expect((await review(started)).stop_reason).toBe("no_model");
  });

  it("A process started before its review has the processor after the server", async () => {
    using started = startReviewProcess();
    const pid = started.child.pid!;
    await new Promise((resolve) => started.child.once("message", resolve));

    expect(getPriority(pid)).toBe(5);
    if (process.platform !== "linux") return;
    const threads = readdirSync(`/proc/${pid}/task`);
    expect(threads.length).toBeGreaterThan(1);
    expect(threads.map((thread) => getPriority(Number(thread)))).toEqual(threads.map(() => 5));
    const session = await readFile(`/proc/${pid}/autogroup`, "utf8").catch(() => "nice 5");
    expect(session).toContain("nice 5");
  });

  it("A process started before its review ends when it is not needed after all", async () => {
    const started = startReviewProcess();
    started[Symbol.dispose]();

    expect(await started.ended).toBe("ended with SIGKILL");
  });

  it("A process started before its review fails the review, to be tried again", async () => {
    const started = startReviewProcess();
    started.child.kill("SIGKILL");
    await started.ended;

    await expect(review(started)).rejects.toMatchObject({ code: "child_died", retryable: true });
  });
});

/** Tries to read each file, in a process with these arguments of Node. */
function attempt(args: readonly string[], paths: readonly string[]): string[] {
  const script = `
    const { readFileSync } = require("node:fs");
    const tried = JSON.parse(process.argv[1]).map((path) => {
      try { return readFileSync(path.replace("PARENT", String(process.ppid)), "utf8").slice(0, 6); } catch (error) { return error.code; }
    });
    console.log(JSON.stringify(tried));`;
  const out = execFileSync(process.execPath, [...args, "-e", script, JSON.stringify(paths)], {
    env: {},
    encoding: "utf8",
  });
  return JSON.parse(out) as string[];
}

describe("a review process", () => {
  let data: TempFolder;
  let checkout: string;

  beforeAll(() => {
    data = new TempFolder("data");
    checkout = join(data.path, "checkouts", "0");
    mkdirSync(checkout, { recursive: true });
    mkdirSync(join(data.path, "checkouts", "01"));
    writeFileSync(join(checkout, "a.ts"), "inside");
    writeFileSync(join(data.path, "checkouts", "01", "a.ts"), "neighbor");
    writeFileSync(join(data.path, "app.json"), "secret");
    symlinkSync(join(data.path, "app.json"), join(data.path, "link"));
  });
  afterAll(() => data[Symbol.dispose]());
  afterEach(() => void vi.unstubAllEnvs());

  it("A review process can read only code and its checkout, whatever reads", () => {
    const outside = [
      join(data.path, "app.json"),
      join(data.path, "link"),
      join(data.path, "checkouts", "01", "a.ts"),
      join(checkout, "..", "01", "a.ts"),
      "/etc/passwd",
      "/proc/PARENT/environ",
      "/proc/self/environ",
    ];
    const paths = [join(checkout, "a.ts"), ...outside];

    const free = attempt([], paths);
    expect(free).not.toContain("ERR_ACCESS_DENIED");
    expect(free[1]).toBe("secret");
    expect(attempt(confinement([checkout]), paths)).toEqual([
      "inside",
      ...outside.map(() => "ERR_ACCESS_DENIED"),
    ]);
  });

  it("A review process reads a checkout also by its real path, if the data folder is behind a link", () => {
    using elsewhere = new TempFolder("links");
    const link = join(elsewhere.path, "data");
    symlinkSync(data.path, link);
    const paths = [join(link, "checkouts", "0", "a.ts"), join(checkout, "a.ts"), join(data.path, "app.json")];

    const tried = attempt(confinement([join(link, "checkouts", "0")]), paths);
    expect(tried).toEqual(["inside", "inside", "ERR_ACCESS_DENIED"]);
  });

  it("A review process has its scratch folders in its parent's temporary folder, and may use them", () => {
    using scratch = new TempFolder("scratch");
    const link = join(scratch.path, "link");
    symlinkSync(data.path, link);
    vi.stubEnv("TMPDIR", link);
    mkdirSync(join(data.path, "hunkwise-range-1"));
    writeFileSync(join(data.path, "hunkwise-range-1", "a"), "scratch");

    const names = [link, data.path].map((folder) => join(folder, "hunkwise-range-1", "a"));
    expect(attempt(confinement([]), names)).toEqual(["scratc", "scratc"]);
    using started = startReviewProcess();
    const environment = readFileSync(`/proc/${started.child.pid}/environ`, "utf8").split("\0");
    expect(environment).toContain(`TMPDIR=${link}`);
  });

  it("A review process is confined also without a folder for temporary files", () => {
    vi.stubEnv("TMPDIR", join(data.path, "missing"));
    const tried = attempt(confinement([checkout]), [join(checkout, "a.ts"), join(data.path, "app.json")]);
    expect(tried).toEqual(["inside", "ERR_ACCESS_DENIED"]);
  });

  it("A review process is started with its confinement", () => {
    using started = startReviewProcess({ checkout });

    const argv = readFileSync(`/proc/${started.child.pid}/cmdline`, "utf8").split("\0");
    expect(argv).toEqual(expect.arrayContaining(confinement([checkout])));
  });
});
