import { defineCommand } from "./command.ts";

export const runs = defineCommand({
  positionals: [
    { name: "ACTION", description: "list (without one), show or export", required: false },
    { name: "ID", description: "for show and export: the run, by the beginning of its id", required: false },
  ],
  options: {
    repository: {
      type: "string",
      value: "NAME",
      description: "for list: of this repository alone, owner/name or a folder",
    },
    pull: { type: "string", value: "NUMBER", description: "for list: of this pull request alone" },
    limit: { type: "string", value: "NUMBER", description: "for list: so many at most", default: "20" },
    format: {
      type: "string",
      value: "FORMAT",
      description: "for list and show: how to print",
      choices: ["pretty", "json"],
      default: "pretty",
    },
    output: { type: "string", value: "FILE", description: "for export: write there instead of printing" },
  },
  notes: [
    "What runs left on record: what was read, searched, found, refuted, posted and paid. Those are listed of reviews and fixes on this machine, " +
      "and where the environment is that of a server (an App, or DATABASE_URL beside HUNKWISE_DATA_DIR) of all its tasks. " +
      "Nothing is changed by looking.",
    "",
    "A record holds code, and secrets where the code does. Printed, they are taken out; an exported record is for hunkwise replay, " +
      "and holds them.",
    "",
    "Exit code: 0 well, 2 usage or failure.",
  ],
  examples: [
    { command: "hunkwise runs", says: "the newest" },
    { command: "hunkwise runs list --repository octo/shop --pull 12", says: "of one pull request" },
    { command: "hunkwise runs show 20261122-1953", says: "the story of one" },
    { command: "hunkwise runs export 20261122-1953 --output run.jsonl", says: "a file for hunkwise replay" },
  ],
  run: async (values, [action, id], io) =>
    (await import("./run-runs.ts")).runRuns(action ?? "list", id, values, io),
});
