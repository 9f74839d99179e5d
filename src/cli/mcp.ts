import { defineCommand } from "./command.ts";
import { rangeOptions } from "./range-options.ts";

export const mcp = defineCommand({
  positionals: [],
  options: rangeOptions,
  notes: [
    "Speaks the Model Context Protocol on standard input and output, for a coding agent that is to look at its own branch before " +
      "there is a pull request. Offers the tools that read the range, as the reviewer has them, and `review`, the whole review. " +
      "When its input ends, it answers what is running and ends.",
    "",
    "Both revisions are looked up anew at each call, so that what the agent commits meanwhile is seen. Uncommitted changes are " +
      "not, and an answer says so while there are any. Nothing is written to the repository, and its configuration is " +
      ".github/hunkwise.yml as it stands at the base: private paths are withheld here, too.",
    "",
    "Without OPENAI_API_KEY and OPENAI_BASE_URL the built-in analyzers review alone.",
    "",
    "Exit code: 0 when the input ended; 2 usage or set-up, such as no repository, or when something else ended it.",
  ],
  examples: [
    { command: "hunkwise mcp --base main", says: "for a client that starts it in the repository" },
    { command: "hunkwise mcp --repo ../shop --base origin/main", says: "for any other" },
  ],
  run: async (values, _, io) => (await import("./serve-mcp.ts")).serveMcp(values, io),
});
