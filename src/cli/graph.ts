import { defineCommand } from "./command.ts";

export const graph = defineCommand({
  positionals: [{ name: "QUERY", description: "a question, a name or a topic; in quotes", required: true }],
  options: {
    repo: { type: "string", value: "DIR", description: "the repository", default: "." },
    head: { type: "string", value: "REF", description: "the revision that is asked about", default: "HEAD" },
    k: {
      type: "string",
      value: "NUMBER",
      description: "what it is about: so many things, up to 25",
      default: "5",
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
    "Asks the knowledge graph of a repository: who calls a function, which tests touch it, what a file imports, which commits and " +
      "documents tell about it. The first question makes an index of the revision; the next ones read only what has changed. It is " +
      "kept in the data folder, one file for each repository, and may be deleted at any time. Reviews on this machine use it from " +
      "then on, and make none themselves.",
    "",
    "Where HUNKWISE_EMBEDDING_MODEL names a model that makes vectors, it is sent the code once, and finds by meaning as well; " +
      "HUNKWISE_EMBEDDING_TOKENS is what one question may take for that.",
    "",
    "Connections that nobody can be sure of say how sure they are; what is less likely than not is left out. Files that the " +
      "configuration withholds (paths.private) are not indexed.",
    "",
    "Exit code: 0 something was found, 1 nothing was, 2 usage or failure.",
  ],
  examples: [
    { command: `hunkwise graph "who calls runReview?"`, says: "callers, and what it calls itself" },
    {
      command: `hunkwise graph --head topic "where is Queue.claim tested?"`,
      says: "tests of a method, on a branch",
    },
    {
      command: `hunkwise graph --format json "why was the retry removed?"`,
      says: "nodes and edges, for programs",
    },
  ],
  run: async (values, [query], io) => (await import("./print-graph.ts")).printGraph(query ?? "", values, io),
});
