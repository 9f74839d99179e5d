import { Command, type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { z } from "zod";
import type { StartedProcess, StartOptions } from "../border/start-process.ts";
import { inCi } from "../config/process-env.ts";
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

/** `found`: a finding at or above the threshold; `failed`: usage or setup; `incomplete`: not or only partly reviewed. */
export const exitCodes = { clean: 0, found: 1, failed: 2, incomplete: 3 } as const;

/** Reads an option's value. Refuses an empty one, and another option: `--repo --base main` would take "--base" for a folder. */
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
    .addOption(
      new Option("--uncommitted", "only uncommitted changes: from HEAD to the working tree").conflicts([
        ...["staged", "committed", "commit", "base", "head"],
      ]),
    )
    .addOption(
      new Option("--staged", "only staged changes: from HEAD to the index").conflicts([
        ...["committed", "commit", "base", "head"],
      ]),
    )
    .addOption(
      new Option(
        "--committed",
        "only commits; the default if CI is set, or --head names a revision",
      ).conflicts("commit"),
    )
    .addOption(
      new Option("--commit <REF>", "only this commit, compared with its parent")
        .argParser(optionText)
        .conflicts(["base", "head"]),
    );

/** The options that decide what is read. */
interface ChangeValues {
  base?: string | undefined;
  head: string;
  uncommitted?: true | undefined;
  staged?: true | undefined;
  committed?: true | undefined;
  commit?: string | undefined;
}

/** What a command reads: by default the working tree with the commits below it, and in a build only commits. */
export function chosenRange(
  { base, head, uncommitted, staged, committed, commit }: ChangeValues,
  isBuild = inCi(),
): Pick<RangeOptions, "scope" | "base" | "head"> {
  const namesHead = head !== "HEAD";
  if (commit !== undefined) return { scope: "commit", head: commit };
  if (uncommitted || staged) return { scope: uncommitted ? "uncommitted" : "staged", head };
  return { scope: committed || isBuild || namesHead ? "commits" : "work_tree", base, head };
}

interface Explanation {
  /** Paragraphs; each is wrapped to the width of the help. */
  text: readonly string[];
  examples: readonly (readonly [shows: string, line: string])[];
}

/** Gives a command its description, and examples at the end of its help. */
export function explained<One extends CommandUnknownOpts>(
  command: One,
  { text, examples }: Explanation,
): One {
  const lines = examples.map(([shows, line]) => `  # ${shows}\n  ${line}`);
  command.description(text.join("\n\n")).addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
  return command;
}
