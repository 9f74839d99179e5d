import { Command, type CommandUnknownOpts, InvalidArgumentError } from "@commander-js/extra-typings";
import { distance } from "fastest-levenshtein";
import { z } from "zod";
import type { StartedProcess, StartOptions } from "../border/start-process.ts";
import { inCi } from "../config/process-env.ts";
import { AppError } from "../core/errors.ts";
import type { RangeOptions } from "./open-range.ts";

/** The parts of the process that a command uses. */
export interface CommandIo {
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Fires at the first SIGINT, SIGTERM or SIGHUP. */
  signal: AbortSignal;
  /** Starts the review process that reads the repository; default: a real process. */
  startProcess?: (options?: StartOptions) => StartedProcess;
}

export interface CommandContext extends CommandIo {
  /** Set by the command, as `process.exitCode`. */
  exitCode: number;
}

/**
 * Exit codes of the command line.
 *
 * - `clean`: no finding at or above the threshold
 * - `found`: at least one
 * - `failed`: wrong usage, or something is not set up
 * - `incomplete`: the change was not reviewed, or only partly
 */
export const exitCodes = { clean: 0, found: 1, failed: 2, incomplete: 3 } as const;

/**
 * Reads an option's value. Refuses an empty one, which an unset variable leaves, and another option: `--repo --base main` would
 * take "--base" for a folder.
 */
export function optionText(value: string): string {
  if (value === "") throw new InvalidArgumentError("It is empty: a variable may be unset.");
  if (value.length > 1 && value.startsWith("-")) throw new InvalidArgumentError("The option needs a value.");
  return value;
}

/** Reads the value of an option that can be repeated, after the values before it. */
export const repeatedText = (value: string, before: string[] | undefined): string[] => [
  ...(before ?? []),
  optionText(value),
];

/** Reads an option's value as a whole number from 1. */
export function wholeNumber(most = 999_999_999): (value: string) => number {
  const range = most < 999_999_999 ? `from 1 to ${most}` : "from 1";
  const schema = z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(1).max(most));
  return (value) => {
    const { data } = schema.safeParse(optionText(value));
    if (data === undefined) throw new InvalidArgumentError(`It must be a whole number ${range}.`);
    return data;
  };
}

/** The values of the options that a command declares. */
export type OptionsOf<Declare extends () => CommandUnknownOpts> = ReturnType<ReturnType<Declare>["opts"]>;

/** A command about a range of commits. */
export const rangeCommand = (name: string) =>
  new Command(name)
    .option("--repo <DIR>", "the repository", optionText, ".")
    .option(
      "--base <REF>",
      "the branch that the change is merged into; default: the pull request's target in CI, otherwise " +
        "origin's default branch, main or master. The change begins where both have their last commit in common",
      optionText,
    )
    .option("--head <REF>", "the last commit of the change", optionText, "HEAD");

/** A command about a change that need not be committed. */
export const changeCommand = (name: string) =>
  rangeCommand(name)
    .option("--uncommitted", "only uncommitted changes: from HEAD to the working tree")
    .option("--staged", "only staged changes: from HEAD to the index")
    .option("--committed", "only commits; the default if CI is set, or --head names a revision")
    .option("--commit <REF>", "only this commit, compared with its parent", optionText);

/** The options that decide what is read. */
interface ChangeValues {
  base?: string | undefined;
  head: string;
  uncommitted?: true | undefined;
  staged?: true | undefined;
  committed?: true | undefined;
  commit?: string | undefined;
}

/**
 * What a command reads: by default the working tree with the commits below it, and in a build only commits.
 * @throws AppError `usage` if two options contradict each other.
 */
export function chosenRange(
  { base, head, uncommitted, staged, committed, commit }: ChangeValues,
  isBuild = inCi(),
): Pick<RangeOptions, "scope" | "base" | "head"> {
  const namesHead = head !== "HEAD";
  const choices = { uncommitted, staged, committed, commit };
  const [chosen, other] = [
    ...Object.entries(choices).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`])),
    ...(namesHead && !committed ? ["--head"] : []),
    // Each of the others names its own.
    ...(base !== undefined && (uncommitted || staged || commit !== undefined) ? ["--base"] : []),
  ];
  if (chosen !== undefined && other !== undefined) {
    throw new AppError("usage", `${chosen} and ${other} exclude each other`, {
      remedy: `Leave one of them out: ${explained[chosen] ?? "--head names the last commit to read"}.`,
    });
  }
  if (commit !== undefined) return { scope: "commit", head: commit };
  if (uncommitted || staged) return { scope: uncommitted ? "uncommitted" : "staged", head };
  return { scope: committed || isBuild || namesHead ? "commits" : "work_tree", base, head };
}

const explained: Record<string, string> = {
  "--uncommitted": "--uncommitted reads from HEAD to the working tree",
  "--staged": "--staged reads from HEAD to the index",
  "--committed": "--committed reads the commits from --base to --head",
  "--commit": "--commit reads one commit, compared with its parent",
};

/** Paragraphs of a description. Each is wrapped to the width of the help. */
export const paragraphs = (...texts: readonly string[]): string => texts.join("\n\n");

/** The end of a command's help: for each example, a description and the command line. */
export const examples = (...all: readonly (readonly [shows: string, line: string])[]): string =>
  `\nExamples:\n${all.map(([shows, line]) => `  # ${shows}\n  ${line}`).join("\n")}`;

/** The candidate that `word` most likely means, if any is close: a typing error or a prefix of it. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const beginning = candidates.filter((one) => word.length >= 2 && one.startsWith(word));
  if (beginning.length === 1) return beginning[0];
  const ranked = candidates
    .map((one) => ({ one, edits: distance(word.slice(0, 64), one) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= Math.ceil(best.one.length / 3) ? best.one : undefined;
}

/** "Did you mean 'review'?", or "" if no candidate is near. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const found = nearest(word, candidates);
  return found === undefined ? "" : `Did you mean '${found}'?`;
}
