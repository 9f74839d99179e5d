import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { rgPath } from "@vscode/ripgrep";
import { factsOf, forAllRoles } from "../../src/agent/llm/model.ts";
import { createOpenAiModel } from "../../src/agent/llm/openai.ts";
import { readPrices } from "../../src/agent/llm/prices.ts";
import { runTask } from "../../src/border/run-task.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import { reviewTask } from "../../src/tasks/review/review-task.ts";
import { gitPath, testGitEnvironment } from "../../test/support/git-repo.ts";
import { reviewInput } from "../../test/support/review-input.ts";
import { runCli } from "../../test/support/run-cli.ts";
import { timeOf } from "./bare-process.ts";
import { recordGit, replayGit } from "./git-recorder.ts";
import { apiKey, modelName, startInstantModel } from "./instant-model.ts";
import { type LocalReview, requireWhole, reviewLocally } from "./local-review.ts";
import { median, takeTurns, timed } from "./measure.ts";
import { createSmallChange } from "./repositories.ts";
import { type Bench, countRow, extraRow, plainRow } from "./row.ts";
import type { WatchedCommand } from "./watch-command.ts";

const MANY_FILES = 60_000;
/** git processes of a review, however many files change: the time of each counts as git's and not as ours. */
const GIT_PROCESSES = 30;

/**
 * A complete `hunkwise review` of 50 files with a model that answers at once, in a repository of 1,000 files and in one of 60,000: its time
 * without git, the wait for its first line, and its memory.
 */
export async function benchReview(bench: Bench): Promise<void> {
  bench.say(`making repositories of 1,000 and ${MANY_FILES} files with the same change of 50`);
  const repo = (await createSmallChange(join(bench.temp, "small-change"))).dir;
  const large = (await createSmallChange(join(bench.temp, "change-of-many"), MANY_FILES)).dir;
  using model = await startInstantModel();
  const subject: LocalReview = { repo, head: "topic", model, temp: bench.temp, findings: 1 };

  const record = await recordGit(bench.temp, (path) => reviewLocally(subject, { PATH: path }));
  bench.say(`hunkwise review in both, and the ${record.length} git processes that it starts in the first`);
  const small: WatchedCommand[] = [];
  const many: WatchedCommand[] = [];
  const review = async (asked: LocalReview, done: WatchedCommand[]) => {
    const watched = await reviewLocally(asked);
    done.push(watched);
    return watched.seconds * 1_000;
  };
  const { ours, ofMany, looks, reference } = await takeTurns(
    {
      ours: () => review(subject, small),
      looks: () => lookAt(large),
      ofMany: () => review({ ...subject, repo: large }, many),
      reference: () => replayGit({ record, repo, temp: bench.temp }),
    },
    { repetitions: 5 },
  );
  const what = "hunkwise review, 50 files, model answers at once";
  bench.add(extraRow(`${what} - its git commands`, { ours, reference }, 1.5));
  bench.add(countRow("git processes of a review of 50 files", record.length, GIT_PROCESSES));
  bench.add(extraRow(`${what}, of 60,000 files - of 1,000`, { ours: ofMany, reference: ours }, null));
  bench.add(
    extraRow("  - git and ripgrep alone in 60,000 files", { ours: ofMany - ours, reference: looks }, 1),
  );
  bench.add(
    plainRow(
      "  its first line of progress, in 60,000 files",
      median(many.map(({ firstLine }) => firstLine)) * 1_000,
      "ms",
      500,
    ),
  );

  bench.say("hunkwise review with what another tool reports");
  const results = await writeResults(repo, bench.temp);
  const analyzed = await takeTurns(
    {
      ours: () => timed(() => reviewOffline(repo, ["--findings", results])),
      reference: () => timed(() => reviewOffline(repo, [])),
    },
    { repetitions: 5 },
  );
  bench.add(extraRow(`hunkwise review with ${RESULTS} results of another tool - without`, analyzed, 1));

  const parent = Math.max(...small.map(({ peaks }) => peaks.parent));
  const child = Math.max(...small.map(({ peaks }) => peaks.child));
  if (child === 0) throw new Error("The review process was not seen");
  bench.add(plainRow("hunkwise review, peak memory of both processes", parent + child, "MB", 300));
  bench.add(plainRow("  of the parent", parent, "MB", null));
  bench.add(plainRow("  of the review process", child, "MB", null));

  bench.say("a review as the server runs it: how long its event loop stands still");
  bench.add(
    plainRow(
      "server, longest stop of the event loop during a review",
      await longestStop(subject),
      "ms",
      null,
    ),
  );
}

const RESULTS = 5_000;

/** A SARIF file with results all over the changed files. */
async function writeResults(repo: string, temp: string): Promise<string> {
  const changed = execFileSync(gitPath, ["diff", "--name-only", "main", "topic"], {
    cwd: repo,
    encoding: "utf8",
  });
  const paths = changed.trim().split("\n");
  const results = Array.from({ length: RESULTS }, (_, at) => ({
    ruleId: `rule-${at % 300}`,
    message: { text: `Something is wrong here, says number ${at}. `.repeat(5) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: paths[at % paths.length] },
          region: { startLine: 1 + (Math.floor(at / paths.length) % 100) },
        },
      },
    ],
  }));
  const file = join(temp, "results.sarif");
  const runs = [{ tool: { driver: { name: "Lint" } }, results }];
  await writeFile(file, JSON.stringify({ version: "2.1.0", runs }));
  return file;
}

/** The analyzers only. Throws if results were given and none is part of the review. */
async function reviewOffline(repo: string, more: readonly string[]): Promise<void> {
  const range = ["--repo", repo, "--base", "main", "--head", "topic"];
  const args = ["review", ...range, "--format", "json", "--fail-on", "never"];
  const { code, stdout, stderr } = await runCli([...args, ...more]);
  if (code !== 0) throw new Error(`hunkwise review ended with ${code}: ${stderr}`);
  if (more.length > 0 && !stdout.includes('"tool:lint/')) throw new Error("No result is part of the review");
}

/**
 * Milliseconds that git and ripgrep take to look at all files as often as a review has to: to see what was edited, to list the tree, and to
 * search for the names of the change, for what the model asks, and for what the second look at the finding asks.
 */
async function lookAt(repo: string): Promise<number> {
  const git = (...args: string[]) => ({ program: gitPath, args, cwd: repo, env: testGitEnvironment });
  const search = { program: rgPath, args: ["--regexp=left\\.total", "./"], cwd: repo, env: {} };
  const looks = [
    git("status", "--porcelain"),
    git("ls-tree", "-r", "-z", "HEAD"),
    ...Array.from({ length: 3 }, () => ({ ...search, exits: [0, 1] })),
  ];
  let total = 0;
  for (const look of looks) total += await timeOf(look);
  return total;
}

/** The longest pause of the event loop, in milliseconds; this process is the parent, like a server's worker. */
async function longestStop({ repo, model, temp, findings }: LocalReview): Promise<number> {
  await using range = await openLocalRange({ repo, base: "main", head: "topic", gitPath, tempDir: temp });
  const contextTokens = 128_000;
  const openAi = createOpenAiModel({
    apiKey,
    baseUrl: model.url,
    model: modelName,
    contextTokens,
    prices: readPrices(null),
    timeoutMs: 60_000,
    maxRetries: 0,
  });
  const review = async () => {
    const input = reviewInput({ models: forAllRoles(factsOf(openAi)) });
    const result = await runTask(reviewTask, input, {
      place: range.place,
      models: forAllRoles(openAi),
      trajectory: { append: async () => {} },
      onProgress() {},
      signal: new AbortController().signal,
    });
    requireWhole(result, findings);
  };
  await review();
  globalThis.gc?.();
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  for (let round = 0; round < 3; round++) await review();
  delays.disable();
  return delays.max / 1e6;
}
