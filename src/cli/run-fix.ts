import { readLocalEnv } from "../config/env.ts";
import { createPrivacy } from "../diff/filter.ts";
import { AppError } from "../errors.ts";
import { commitFix, patchTo, type UncheckedFix } from "../jobs/commands/fix/commit-fix.ts";
import { eachRole, factsOf, type Models } from "../llm/model.ts";
import { runFixProcess } from "../process/run-fix-process.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import type { Refusal } from "../review/fix/check-edits.ts";
import type { FixInput, FixResult, FixTarget, Repair } from "../review/fix/fix-input.ts";
import { limitsOf } from "../review/limits.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { findingsToFix } from "./findings-to-fix.ts";
import { type LocalConfig, loadLocalConfig } from "./local-config.ts";
import { type OpenRange, openRange } from "./open-range.ts";
import { write } from "./output.ts";
import { createProgress } from "./progress.ts";
import { connectModels } from "./review-range.ts";
import { useProxy } from "./use-proxy.ts";

export interface FixValues {
  repo: string;
  base: string | undefined;
  head: string;
  finding: string;
  from: string | undefined;
}

/** Whose the commit is of which the patch is made; nobody sees it. */
const author = { name: "Hunkwise", email: "hunkwise@localhost" };

/** Repairs findings of a local range and prints the patch. Resolves to the exit code. */
export async function runFixCommand(values: FixValues, io: CommandIo): Promise<number> {
  const env = readLocalEnv();
  useProxy(env);
  await using range = await openRange({ ...values, signal: io.signal });
  const { config } = await loadLocalConfig(range.workspace);
  const isPrivate = createPrivacy(config.paths.private);
  const query = {
    id: values.finding,
    file: values.from,
    folder: env.runsFolder,
    head: range.place.shas.head,
  };
  const targets = (await findingsToFix(query)).filter(({ path }) => !isPrivate(path));
  const say = (text: string) => write(io.stderr, `${plainLine(text)}\n`);
  const connected = await connectModels(env, {
    warn: (text) => void say(`warning: ${text}`),
    signal: io.signal,
  });
  if (connected === null) throw noModel();
  const fix = await repair({ range, config, targets, models: connected.models }, io);
  for (const line of fix.repairs.map((one) => repairLine(one, targets))) await say(line);
  const named = targets.flatMap(({ path, files }) => [path, ...files]);
  const unchecked = { fix, place: range.place, named, isPrivate, author, at: 0, signal: io.signal };
  return await printPatch(unchecked, io, say);
}

const noModel = () =>
  new AppError("usage", "there is no model to repair anything", {
    remedy: "Set OPENAI_API_KEY or OPENAI_BASE_URL; hunkwise doctor checks them.",
  });

interface Task extends Pick<LocalConfig, "config"> {
  range: OpenRange;
  targets: readonly FixTarget[];
  models: Models;
}

async function repair({ range, config, targets, models }: Task, io: CommandIo): Promise<FixResult> {
  const input: FixInput = {
    ...{ targetBranch: range.names.base, pull: null, targets: [...targets], config },
    ...{ limits: limitsOf(config), models: eachRole(models, factsOf) },
  };
  const progress = createProgress(io.stderr);
  try {
    return await runFixProcess({
      ...{ place: range.place, input, models, signal: io.signal, onProgress: progress.handle },
      ...(io.startProcess && { started: io.startProcess() }),
      trajectory: { append: async () => {} },
    });
  } finally {
    progress.end();
  }
}

function repairLine({ id, repaired, note, check }: Repair, targets: readonly FixTarget[]): string {
  const title = targets.find((target) => target.id === id)?.title ?? id;
  const how = repaired ? "repaired" : "left";
  const looked = check === null ? "" : ` (second look: ${check.state}: ${check.reason})`;
  return `${how}: ${title}: ${note}${looked}`;
}

async function printPatch(
  unchecked: UncheckedFix,
  io: CommandIo,
  say: (text: string) => Promise<void>,
): Promise<number> {
  const made = await commitFix(unchecked);
  switch (made.kind) {
    case "none":
      await say("Nothing was repaired.");
      return exitCodes.found;
    case "refused":
      for (const refusal of made.refusals) await say(refusalLine(refusal));
      return exitCodes.found;
    case "committed":
      await write(io.stdout, await patchTo(made.commit, unchecked));
      return exitCodes.clean;
  }
}

const refusalLine = ({ path, reason }: Refusal) => `refused: ${path === null ? "" : `${path}: `}${reason}`;
