import { defineCommand } from "./command.ts";
import { rangeOptions } from "./range-options.ts";

const options = {
  ...rangeOptions,
  finding: {
    type: "string",
    value: "ID",
    description: "the finding to repair, or 'all'",
    default: "all",
  },
  format: {
    type: "string",
    value: "FORMAT",
    description: "patch, or json with the patch, how it was tried out and what a second look says",
    choices: ["patch", "json"],
    default: "patch",
  },
  from: {
    type: "string",
    value: "FILE",
    description:
      "where the finding is: what review --format json printed; without it the last review on record",
  },
  "no-record": { type: "boolean", description: "leave no record of the run (see hunkwise runs --help)" },
} as const;

export const fix = defineCommand({
  positionals: [],
  options,
  notes: [
    "Has a model repair findings of a review, in a process that can write nothing, looks at the repair a second time, and " +
      "prints it as a patch. Nothing is written to the repository: git apply does that. Where bubblewrap is installed, the " +
      "model tries it out with the commands (test, lint, build) that the base's .github/hunkwise.yml names.",
    "",
    "Exit code: 0 a patch was printed; 1 nothing was repaired, or the repair does what a fix may not do; 2 usage or failure.",
  ],
  examples: [
    {
      command: "hunkwise review; hunkwise fix | git apply --allow-empty",
      says: "reviews and repairs what was found (';' and not '&&': a review with findings exits with 1)",
    },
    { command: "hunkwise fix --finding 3f2a9c0d1e5b --base main", says: "shows the repair of one finding" },
  ],
  run: async (values, _, io) => (await import("./run-fix.ts")).runFixCommand(values, io),
});
