import type { Command, OptionSpecs } from "./command.ts";

export interface Entry {
  name: string;
  summary: string;
  load(): Promise<Command>;
}

// A command's own option types matter only inside its file; here all are run through the same parser.
const erase = <Options extends OptionSpecs>(command: Command<Options>) => command as unknown as Command;

/** Every command by name. Nothing of a command is loaded before it is asked for. */
export const commands: readonly Entry[] = [
  {
    name: "review",
    summary: "review the commits of a local range",
    load: async () => erase((await import("./review.ts")).review),
  },
  {
    name: "runs",
    summary: "list, show and export records of runs",
    load: async () => erase((await import("./runs.ts")).runs),
  },
  {
    name: "replay",
    summary: "repeat a recorded run without a model and name the findings that differ",
    load: async () => erase((await import("./replay.ts")).replay),
  },
  {
    name: "tool",
    summary: "run one of the reviewer's tools and print its result as JSON",
    load: async () => erase((await import("./tool.ts")).tool),
  },
  {
    name: "mcp",
    summary: "serve the reviewer's tools and the review to a coding agent, over the Model Context Protocol",
    load: async () => erase((await import("./mcp.ts")).mcp),
  },
  {
    name: "fix",
    summary: "repair findings of a review, and print the patch",
    load: async () => erase((await import("./fix.ts")).fix),
  },
  {
    name: "graph",
    summary: "ask what a repository knows: callers, tests, documents, commits",
    load: async () => erase((await import("./graph.ts")).graph),
  },
  {
    name: "serve",
    summary: "run the GitHub App: web server and worker in one process",
    load: async () => erase((await import("./serve.ts")).serve),
  },
  {
    name: "worker",
    summary: "run only a worker",
    load: async () => erase((await import("./worker.ts")).worker),
  },
  {
    name: "webhook",
    summary: "feed a stored webhook payload through the app",
    load: async () => erase((await import("./webhook.ts")).webhook),
  },
  {
    name: "doctor",
    summary: "check the installation and say what to do",
    load: async () => erase((await import("./doctor.ts")).doctor),
  },
  {
    name: "config",
    summary: "check, describe and show the repository configuration",
    load: async () => erase((await import("./config.ts")).config),
  },
];
