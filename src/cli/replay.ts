import { defineCommand } from "./command.ts";

export const replay = defineCommand({
  positionals: [
    { name: "FILE", description: "the record, as hunkwise runs export writes it", required: true },
  ],
  options: {
    repo: {
      type: "string",
      value: "DIR",
      description: "the repository; without it the folder that was reviewed, else the current one",
    },
    format: {
      type: "string",
      value: "FORMAT",
      description: "how to print",
      choices: ["pretty", "json"],
      default: "pretty",
    },
  },
  notes: [
    "Reviews the same commits once more (or answers, or repairs, as the record has it) with the recorded turns in place of a model, and " +
      "tells where today's tools, prompts and results differ from those on record. Nothing is asked of a model, nothing is fetched, and " +
      "nothing is written. The commands of a fix are run again, in a sandbox.",
    "",
    "The repository has to hold the commits. Those of a pull request come with git fetch origin pull/NUMBER/head.",
    "",
    "Exit code: 0 all is as recorded, 1 something differs, 2 usage or failure.",
  ],
  examples: [
    {
      command: "hunkwise runs export 20261122-1953 --output run.jsonl && hunkwise replay run.jsonl",
      says: "a local review once more",
    },
    { command: "hunkwise replay run.jsonl --repo ~/src/shop", says: "a server's review, on a clone" },
  ],
  run: async (values, [file], io) => (await import("./run-replay.ts")).runReplay(file ?? "", values, io),
});
