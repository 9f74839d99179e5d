import type { StartedReviewProcess, StartOptions } from "../process/start-process.ts";

/** A command declared as data: help, parsing and the types of its values come from the same object. */

interface BooleanOption {
  type: "boolean";
  description: string;
}

interface StringOption {
  type: "string";
  /** What stands for the value in the help: "DIR". */
  value: string;
  description: string;
  /** The only values that are accepted. */
  choices?: readonly string[];
  default?: string;
}

export type OptionSpec = BooleanOption | StringOption;
export type OptionSpecs = Record<string, OptionSpec>;

/** Every command answers `--help`; no command declares it. */
export type ValuesOf<Options extends OptionSpecs> = {
  [Name in keyof Options]: Options[Name] extends { type: "boolean" }
    ? boolean
    : Options[Name] extends { choices: readonly (infer Choice)[]; default: string }
      ? Choice
      : Options[Name] extends { choices: readonly (infer Choice)[] }
        ? Choice | undefined
        : Options[Name] extends { default: string }
          ? string
          : string | undefined;
};

export interface PositionalSpec {
  name: string;
  description: string;
  required: boolean;
}

export interface Example {
  command: string;
  says: string;
}

/** What a command sees of the process. */
export interface CommandIo {
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Fires at the first SIGINT, SIGTERM or SIGHUP. */
  signal: AbortSignal;
  /** Starts what reads the repository in a review; left out, a process of its own. */
  startProcess?: (options?: StartOptions) => StartedReviewProcess;
}

export interface Command<Options extends OptionSpecs = OptionSpecs> {
  positionals: readonly PositionalSpec[];
  options: Options;
  /** Exit codes and whatever else a reader of the help must know, as whole lines. */
  notes: readonly string[];
  examples: readonly Example[];
  /** Resolves to the exit code. An AppError it rejects with is printed as one line. */
  run(values: ValuesOf<Options>, positionals: readonly string[], io: CommandIo): Promise<number>;
}

/** Declares a command; only for the types. */
export function defineCommand<const Options extends OptionSpecs>(
  command: Command<Options>,
): Command<Options> {
  return command;
}

/**
 * Exit codes of the command line.
 *
 * - `clean`: nothing was found at or above the threshold
 * - `found`: something was
 * - `failed`: wrong usage, or something is not set up
 * - `incomplete`: the change was not reviewed, or only partly
 */
export const exitCodes = { clean: 0, found: 1, failed: 2, incomplete: 3 } as const;
