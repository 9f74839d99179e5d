import { severities } from "../finding.ts";
import { defineCommand } from "./command.ts";
import { rangeOptions } from "./range-options.ts";
import { formats } from "./render-result.ts";

const thresholds = [...severities, "never"] as const;

const options = {
  ...rangeOptions,
  format: {
    type: "string",
    value: "FORMAT",
    description: "how to print; without it as the ending of --output says (.json, .md, .sarif), else pretty",
    choices: formats,
  },
  output: { type: "string", value: "FILE", description: "write the result there instead of printing it" },
  "fail-on": {
    type: "string",
    value: "SEVERITY",
    description: "exit 1 at a finding as severe as this; without it as the configuration says, else high",
    choices: thresholds,
  },
  "require-model": {
    type: "boolean",
    description: "for a gate: exit 2 if no model is configured, 3 if none answered",
  },
  "dry-run": { type: "boolean", description: "print what would be reviewed and what it costs; ask no model" },
  trajectory: {
    type: "string",
    value: "FILE",
    description: "write the record of the run there as well, one JSON object a line",
  },
  "no-record": { type: "boolean", description: "leave no record of the run (see hunkwise runs --help)" },
} as const;

export const review = defineCommand({
  positionals: [],
  options,
  notes: [
    "Reviews the commits between the merge base of the two revisions and the head. Uncommitted changes are not reviewed, " +
      "and nothing is written to the repository. Its configuration is .github/hunkwise.yml as it stands at the base.",
    "",
    "What was read, found and paid stays on record for HUNKWISE_RETENTION_DAYS, for this user alone: hunkwise runs shows it.",
    "",
    "Without OPENAI_API_KEY and OPENAI_BASE_URL the built-in analyzers review alone, and the report says so.",
    "",
    "Exit code: 0 clean, 1 findings at or above the threshold, 2 usage or set-up, 3 not reviewed or only partly; " +
      "1 wins over 3.",
    "If a model is configured and did not judge a match of a rule, the match alone ends with 3 and not with 1. " +
      "Findings that are certain, such as secrets, count in any case.",
  ],
  examples: [
    { command: "hunkwise review", says: "the checked-out branch against the default branch" },
    { command: "hunkwise review --base HEAD~3 --fail-on never", says: "the last three commits, for reading" },
    {
      command: "hunkwise review --base main --output review.sarif",
      says: "for code scanning",
    },
    {
      command: "hunkwise review --base main --dry-run",
      says: "what would be read, and how many tokens that is",
    },
  ],
  async run(values, _, io) {
    const { startReviewProcess } = await import("../process/start-review-process.ts");
    const { readLocalEnv } = await import("../config/env.ts");
    const { presentIndex } = await import("./local-index.ts");
    // It loads its code while this process loads its own and git makes the checkout.
    const graphIndex = presentIndex(values.repo, readLocalEnv());
    using started = values["dry-run"] ? null : (io.startProcess ?? startReviewProcess)({ graphIndex });
    const { runReview } = await import("./run-review.ts");
    return await runReview(values, io, started ?? undefined);
  },
});
