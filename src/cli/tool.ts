import { defineCommand } from "./command.ts";
import { rangeOptions } from "./range-options.ts";

const options = {
  list: { type: "boolean", description: "print the definitions of all tools as JSON" },
  ...rangeOptions,
  args: { type: "string", value: "JSON", description: "the arguments of the call", default: "{}" },
} as const;

export const tool = defineCommand({
  positionals: [{ name: "NAME", description: "the tool to run; see --list", required: false }],
  options,
  notes: [
    "Prints the result as JSON: status, output or error, metadata.",
    "",
    "Exit code: 0 success; 1 no such tool, or the tool answered with an error or refused its arguments; 2 usage or set-up: " +
      "no repository, no base, or --args is not JSON.",
  ],
  examples: [
    { command: "hunkwise tool changed_files", says: "what a branch changes" },
    {
      command: `hunkwise tool read_file_part --base main --args '{"file_path": "README.md", "end_line": 20}'`,
      says: "the beginning of a file",
    },
  ],
  run: async (values, [name], io) => (await import("./print-tool.ts")).printTool(name, values, io),
});
