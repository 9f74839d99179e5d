import type { TestEnd } from "../agent/record/test-end.ts";
import type { TestedEntry } from "../agent/record/trajectory.ts";
import type { RepoConfig } from "../config/repo-config.ts";
import type { ProofTest, Revision } from "../core/finding.ts";
import { shellWord } from "../core/text/fence.ts";
import { once } from "../repo/code/source.ts";
import { isTestFile } from "../repo/code/test-file.ts";
import { createPathMatcher } from "../repo/diff/paths.ts";
import type { Workspace } from "../repo/git/workspace.ts";
import { limitsFor } from "../sandbox/bubblewrap.ts";
import { placedFiles } from "../sandbox/command-port.ts";
import type { PlacedFile } from "../sandbox/run-in-sandbox.ts";
import { whyRefused } from "../tasks/prove/proof/rules.ts";
import { asItIs, runTest } from "../tasks/prove/proof/run-test.ts";
import { readTestFacts } from "../tasks/prove/proof/test-facts.ts";
import type { RecordedTest } from "../tasks/prove/prove-input.ts";
import type { ReplacedFile, TestPort } from "../tasks/prove/run-prove.ts";
import type { TestPlace } from "./messages.ts";

interface TestPortOptions {
  where: TestPlace;
  prove: RepoConfig["prove"];
  /** Reads the revisions without teaching the masks: only what tests print is shown to a model. */
  workspace: Pick<Workspace, "tree" | "readBytes">;
  isPrivate(path: string): boolean;
  masks: { learn(text: string): Promise<unknown> };
  tested: readonly RecordedTest[];
  record(entry: TestedEntry): Promise<void>;
}

/** Of one run; a test of a proof is small. */
const TIMEOUT_MS = 120_000;

/** Runs the tests of proofs in the sandbox, each once: a recorded run is not repeated. */
export function createTestPort({
  where,
  prove,
  workspace,
  isPrivate,
  masks,
  tested,
  record,
}: TestPortOptions): TestPort {
  const recorded = new Map(tested.map(({ key, end }) => [key, end]));
  const limits = limitsFor(where.sandbox?.memoryMb ?? 1);
  const facts = once(() => readTestFacts(workspace));
  const configured = prove.run.map(({ files, command }) => ({ match: createPathMatcher([files]), command }));

  async function* filesOf(on: Revision, replaced: ReplacedFile | null): AsyncGenerator<PlacedFile> {
    const before = await workspace.tree("merge_base");
    const tree = on === "base" ? before : withTestsOf(before, await workspace.tree("head"));
    yield* placedFiles(tree, {
      isPrivate,
      filesBytes: limits.filesBytes,
      read: async ({ path, oid }) =>
        path === replaced?.path ? replaced.bytes : await workspace.readBytes(oid),
    });
  }

  /** The command of the configuration; null for a test that runs as it is. */
  function configuredFor({ path }: ProofTest): string | null {
    const found = configured.find(({ match }) => match(path).matched);
    return found?.command.replaceAll("{file}", shellWord(path)) ?? null;
  }

  return {
    commandFor(test) {
      const command = configuredFor(test);
      if (command !== null) return { command };
      const found = asItIs(test);
      return "why" in found ? found : { command: found.shown };
    },
    whyRefused: async (test) => whyRefused(test, await facts()),
    async run({ test, on, replaced, key }, signal) {
      const known = recorded.get(key);
      const end = known ?? (await runNow());
      for (const text of [end.stdout, end.stderr]) await masks.learn(text);
      return end;

      async function runNow(): Promise<TestEnd> {
        const { sandbox } = where.sandbox;
        const left = await runTest(
          {
            test,
            command: configuredFor(test),
            sandbox,
            limits,
            timeoutMs: TIMEOUT_MS,
            files: filesOf(on, replaced),
            environment: where.environment ?? undefined,
          },
          signal,
        );
        recorded.set(key, left);
        await record({ kind: "tested", key, end: left });
        return left;
      }
    },
  };
}

/** What runners load beside tests. */
const ofRunners =
  /(?:^|\/)(?:conftest\.py|pytest\.ini|__mocks__\/.+|(?:vitest?|jest|mocha|ava|karma)\.[\w.-]+|\.mocharc[\w.]*)$/;

/** `after` with tests, their helpers and settings of runners as in `before`: a change of those could decide how a test ends. */
function withTestsOf<Entry>(
  before: ReadonlyMap<string, Entry>,
  after: ReadonlyMap<string, Entry>,
): ReadonlyMap<string, Entry> {
  const decides = ([path]: readonly [string, Entry]) => isTestFile(path) || ofRunners.test(path);
  return new Map([...[...after].filter((one) => !decides(one)), ...[...before].filter(decides)]);
}
