import { defineCommand } from "./command.ts";

const options = {
  list: { type: "boolean", description: "print the definitions of all tools as JSON" },
  repo: { type: "string", value: "DIR", description: "the repository", default: "." },
  base: { type: "string", value: "REF", description: "what the change is to be merged into" },
  head: { type: "string", value: "REF", description: "the last commit of the change", default: "HEAD" },
  args: { type: "string", value: "JSON", description: "the arguments of the call", default: "{}" },
} as const;

export const tool = defineCommand({
  positionals: [{ name: "NAME", description: "the tool to run; see --list", required: false }],
  options,
  notes: [
    "Prints the result as JSON: status, output or error, metadata.",
    "",
    "Exit code: 0 success; 1 the tool answered with an error, is unknown or refused its arguments; 2 no repository, no " +
      "base, or --args is not JSON.",
  ],
  examples: [
    { command: "hunkwise tool changed_files --base main", says: "what a branch changes" },
    {
      command: `hunkwise tool read_file_part --base main --args '{"file_path": "README.md", "end_line": 20}'`,
      says: "the beginning of a file",
    },
  ],
  run: async (values, [name], io) => (await import("./print-tool.ts")).printTool(name, values, io),
});
