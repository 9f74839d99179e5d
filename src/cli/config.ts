import { defineCommand } from "./command.ts";

export const config = defineCommand({
  positionals: [
    { name: "ACTION", description: "check, schema or show", required: true },
    {
      name: "FILE",
      description:
        "for check: the file; without it the repository's .github/hunkwise.yml and all .hunkwise.yml of its folders",
      required: false,
    },
  ],
  options: {
    repo: {
      type: "string",
      value: "DIR",
      description: "for check and show: any folder of the repository",
      default: ".",
    },
    base: {
      type: "string",
      value: "REF",
      description: "for show: the revision that counts; without it as for review",
    },
    format: {
      type: "string",
      value: "FORMAT",
      description: "for show: how to print",
      choices: ["yaml", "json"],
      default: "yaml",
    },
    nested: { type: "boolean", description: "for schema: the one of .hunkwise.yml in a folder" },
  },
  notes: [
    "check validates files and names line and key of whatever is wrong; schema prints the JSON Schema of a file; show " +
      "prints the values that hold for pull requests into a revision, defaults included.",
    "",
    "Exit code: 0 all is well, 1 check found something wrong, 2 usage or failure.",
  ],
  examples: [
    { command: "hunkwise config check", says: "the files of the repository here" },
    { command: "hunkwise config schema > hunkwise.schema.json", says: "for editors" },
    { command: "hunkwise config show --base main", says: "what holds for pull requests into main" },
  ],
  run: async (values, [action, file], io) =>
    (await import("./run-config.ts")).runConfig(action, file, values, io),
});
