import { namedCommands, type RepoConfig } from "../config/repo-config.ts";
import { createPrivacy } from "../repo/diff/filter.ts";
import { openWorkspace } from "../repo/git/object-workspace.ts";
import type { RevisionPlace } from "../repo/git/workspace.ts";
import { type FindOptions, findSandbox } from "../sandbox/find-sandbox.ts";
import { changedDependencies } from "../tasks/prove/proof/dependency-files.ts";
import { changedEnvironment, prepareEnvironment } from "../tasks/prove/proof/environment.ts";
import type { CommandSandbox } from "./messages.ts";
import { type FoundTestPlace, NO_SANDBOX } from "./prove-review.ts";

/** The sandbox of this machine; null if none is available or the configuration runs nothing. */
export type FindCommandSandbox = (
  config: Pick<RepoConfig, "commands" | "prove">,
  signal: AbortSignal,
) => Promise<CommandSandbox | null>;

interface CommandSandboxOptions extends Omit<FindOptions, "signal"> {
  memoryMb: number;
  /** Called if there is no sandbox. */
  warn(why: string, remedy: string): void;
}

/** Finds a sandbox when it is first needed, and keeps it. If there is none, the next work tries again, which takes half a second. */
export function createCommandSandbox({
  memoryMb,
  warn,
  ...where
}: CommandSandboxOptions): FindCommandSandbox {
  let kept: CommandSandbox | null = null;
  return async (config, signal) => {
    if (Object.keys(namedCommands(config)).length === 0 && !config.prove.enabled) return null;
    if (kept) return kept;
    const found = await findSandbox({ ...where, signal });
    if (found.sandbox) kept = { sandbox: found.sandbox, memoryMb };
    else warn(found.why, found.remedy);
    return kept;
  };
}

/** Finds where the tests of a change run, or why none can run. Rejects only when aborted. */
export type FindTestPlace = (order: TestPlaceOrder, signal: AbortSignal) => Promise<FoundTestPlace>;

export interface TestPlaceOrder {
  place: RevisionPlace;
  repository: string;
  /** Of the base branch, with the private paths of its folders. */
  config: RepoConfig;
}

interface TestPlaceOptions {
  findSandbox: FindCommandSandbox;
  /** Where environments are kept. */
  folder: string;
  /** Hosts that the command which prepares an environment may reach. */
  registries: readonly string[];
  /** Takes a fault of this machine, where reasons are public. */
  onFault?: (line: string) => void;
}

/** Of the command that prepares an environment. */
const PREPARE_MS = 15 * 60_000;
/** Named in a reason. */
const MOST_NAMED = 3;

/** Finds the sandbox, and prepares the environment if the configuration wants one, from the files of the merge base only. */
export function createFindTestPlace({ findSandbox, ...where }: TestPlaceOptions): FindTestPlace {
  return async ({ place, repository, config }, signal) => {
    const sandbox = await findSandbox(config, signal);
    if (sandbox === null) return NO_SANDBOX;
    const { prepare, run } = config.prove;
    if (prepare === null) return { sandbox, environment: null };
    await using workspace = openWorkspace(place);
    const changes = await workspace.changes();
    const commands = [prepare, ...run.map(({ command }) => command)].join("\n");
    const changed = changedDependencies(changes, commands);
    if (changed.length > 0) return { why: `dependencies changed (${named(changed)})` };
    const prepared = await prepareEnvironment(
      {
        ...where,
        ...sandbox,
        repository,
        tree: workspace,
        command: prepare,
        isPrivate: createPrivacy(config.paths.private),
        timeoutMs: PREPARE_MS,
      },
      signal,
    );
    if ("why" in prepared) return prepared;
    const replaced = await changedEnvironment(prepared, changes, await workspace.tree("merge_base"));
    if (replaced.length > 0) return { why: `dependencies changed (${named(replaced)})` };
    return { sandbox, environment: prepared.root };
  };
}

function named(paths: readonly string[]): string {
  const more = paths.length - MOST_NAMED;
  return `${paths.slice(0, MOST_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
