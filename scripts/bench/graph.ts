import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { keepCompiledCode } from "../../src/border/compile-cache.ts";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import type { Graph } from "../../src/repo/index/graph.ts";
import { openGraph, sourceOfWorkspace } from "../../src/repo/index/open-graph.ts";
import { GitRepo, gitPath } from "../../test/support/git-repo.ts";
import { runCli } from "../../test/support/run-cli.ts";
import { type Bench, plainRow } from "./row.ts";
import { Dice, edited, pathOf, textOf } from "./source-text.ts";
import { watchCommand } from "./watch-command.ts";

const FILES = 2_000;
const LINES = 100;
const CHANGED = 50;
/** The target is for two cores. */
const THREADS = 2;

/**
 * The first question to a repository of 2,000 files through the command line; the index of these files and of 2,000 more in the same
 * file, which shows whether the cost grows with the size of the index; a new head that changes 50 files; and queries. The limits of the
 * index are a fifth of those for 10,000 files. The table also shows CPU seconds: on a busy machine they are more reliable than wall time.
 */
export async function benchGraph(bench: Bench): Promise<void> {
  // Like the program.
  keepCompiledCode();
  bench.say(`making a repository of ${FILES} files of about ${LINES} lines, and of ${2 * FILES}`);
  const repo = createRepository(join(bench.temp, "graph-repository"));

  bench.say("the first question, as a person asks it");
  await benchFirstQuestion(repo.dir, bench);

  const range = await openLocalRange({
    ...{ repo: repo.dir, base: "main", head: "topic", gitPath, tempDir: bench.temp },
  });
  await using workspace = openWorkspace(range.place);
  const file = join(bench.temp, "graph.db");
  rmSync(file, { force: true });
  const all = await sourceOfWorkspace(workspace, () => false, "base");
  const numberOf = (path: string) => Number(/-(\d+)\.\w+$/.exec(path)?.[1]);
  const source = { files: all.files.filter(({ path }) => numberOf(path) < FILES), read: all.read };

  bench.say("indexing it");
  const first = await timed(() => openGraph({ file, source, threads: THREADS }));
  first.value[Symbol.dispose]();
  requireAll(first.value, FILES);
  const size = statSync(file).size;
  bench.add(plainRow(`index of ${FILES} files`, first.seconds, "s", 12));
  bench.add(plainRow("  of the time, CPU of all threads", first.cpuSeconds, "s", null));
  bench.add(plainRow(`index of ${FILES} files, size`, size / 1024 ** 2, "MB", 100));

  bench.say(`indexing ${FILES} more`);
  const second = await timed(() => openGraph({ file, source: all, threads: THREADS }));
  second.value[Symbol.dispose]();
  requireAll(second.value, FILES);
  bench.add(growthRow("CPU", second.cpuSeconds, first.cpuSeconds, 1.2));
  bench.add(growthRow("size", statSync(file).size - size, size, 1.1));

  bench.say(`a new head with ${CHANGED} changed files, as for a pull request`);
  await workspace.tree("head");
  const next = await timed(async () => {
    const changed = await sourceOfWorkspace(workspace, () => false, "head");
    return await openGraph({ file, source: changed, threads: THREADS, readOnly: true });
  });
  using graph = next.value;
  requireAll(graph, CHANGED);
  bench.add(plainRow(`new head with ${CHANGED} changed files`, next.seconds, "s", 1));
  bench.add(plainRow("  of the time, CPU of all threads", next.cpuSeconds, "s", null));
  await benchQueries(graph, bench);
  await range[Symbol.asyncDispose]();
}

const growthRow = (what: string, second: number, first: number, limit: number) =>
  plainRow(`index of ${FILES} more files, ${what} compared with the first`, second / first, "x", limit);

/** From the start of the process: its first line of progress, and its answer. */
async function benchFirstQuestion(repo: string, bench: Bench): Promise<void> {
  // It compiles the program, as an earlier command of the same user has.
  await runCli(["graph", "--help"]);
  const args = ["graph", "--repo", repo, "--head", "small", "who calls shared_400?"];
  const env = { TMPDIR: bench.temp, HUNKWISE_DATA_DIR: join(bench.temp, "graph-data") };
  const { seconds, firstLine, peaks, stderr } = await watchCommand(args, env);
  if (Number.isNaN(firstLine) || !stderr.includes(`Read ${FILES} of`))
    throw new Error(`hunkwise graph did not read everything, with progress: ${stderr}`);
  bench.add(plainRow(`first question on ${FILES} files, to the answer`, seconds, "s", 10));
  bench.add(plainRow("  to the first line of progress", firstLine, "s", 0.5));
  bench.add(plainRow("  peak memory", peaks.parent, "MB", null));
}

/** `small` has the first half of the files of `main`; `topic` changes some of `main`. */
function createRepository(dir: string): GitRepo {
  const repo = GitRepo.create({ dir });
  const numbers = Array.from({ length: 2 * FILES }, (_, number) => number);
  const text = (number: number) => linked(number, textOf(number, LINES));
  const files = numbers.map((number): [string, string] => [pathOf(number), text(number)]);
  const step = (2 * FILES) / CHANGED;
  repo.importCommits([
    { branch: "small", files: files.slice(0, FILES) },
    { branch: "main", parents: ["small"], files: files.slice(FILES) },
    {
      branch: "topic",
      parents: ["main"],
      files: numbers
        .slice(0, CHANGED)
        .map((at) => [pathOf(at * step), edited(at * step, text(at * step), 3, at)]),
    },
  ]);
  repo.git("checkout", "--quiet", "topic");
  return repo;
}

/** Adds calls to functions of other files, so that there are references to follow. */
function linked(number: number, text: string): string {
  if (!pathOf(number).endsWith(".ts")) return text;
  const own = `shared_${number}`;
  const head = `export function ${own}(limit: number): number {\n  return limit;\n}\n`;
  const others = [number - 4, number - 40].filter((other) => other >= 0 && pathOf(other).endsWith(".ts"));
  const imports = others.map((other) => `import { shared_${other} } from "../../../${pathOf(other)}";\n`);
  const calls = others.map((other) => `shared_${other}(${number});\n`);
  return [...imports, head, text, ...calls].join("");
}

const QUESTIONS = 60;

/** Queries of three kinds; the target is for each query, so the slowest of twenty counts. */
async function benchQueries(graph: Graph, bench: Bench): Promise<void> {
  const dice = new Dice(7);
  const { signal } = new AbortController();
  const times: number[] = [];
  for (let at = 0; at < QUESTIONS; at++) {
    const asked = [
      `who calls shared_${dice.below(FILES / 2) * 4}?`,
      `where is the ${dice.word()} of a ${dice.word()} tested?`,
      `${dice.word()} ${dice.word()} ${dice.word()}`,
    ][at % 3] as string;
    const start = performance.now();
    const { nodes } = await graph.query(asked, 5, signal);
    times.push(performance.now() - start);
    if (nodes.length === 0) throw new Error(`Nothing was found for '${asked}'`);
  }
  times.sort((a, b) => a - b);
  bench.add(plainRow("query, median", times[QUESTIONS / 2] ?? 0, "ms", 50));
  bench.add(plainRow("query, the slowest of twenty", times[Math.floor(QUESTIONS * 0.95)] ?? 0, "ms", 50));
  const [symbol] = graph.symbols("shared_400");
  if (!symbol || graph.callers(symbol).length === 0) throw new Error("The callers were not found");
}

function requireAll({ report }: Graph, parsed: number): void {
  if (report.parsed !== parsed) throw new Error(`${report.parsed} files were read, not ${parsed}`);
}

async function timed<Value>(run: () => Promise<Value>) {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  const value = await run();
  const { user, system } = process.cpuUsage(cpu);
  return { value, seconds: (performance.now() - start) / 1_000, cpuSeconds: (user + system) / 1_000_000 };
}
