import { defineCommand } from "./command.ts";

export const webhook = defineCommand({
  positionals: [{ name: "FILE", description: "the payload as JSON, '-' for standard input", required: true }],
  options: {
    event: { type: "string", value: "NAME", description: "the event, as in the header x-github-event" },
    delivery: { type: "string", value: "ID", description: "the delivery's id; without it a new one" },
    installation: {
      type: "string",
      value: "ID",
      description: "the installation that the payload is to name, in place of its own",
    },
  },
  notes: [
    "Signs the payload and delivers it as GitHub would: through the same signature check, decision and queue. A worker that " +
      "runs on the same data folder then does what was enqueued.",
    "",
    "Without App credentials the delivery goes into a queue that is thrown away, to see what would be decided.",
    "",
    "GitHub's example payloads name no installation, and nothing follows from them without --installation.",
    "",
    "Exit code: 0 the delivery was taken, 2 it was refused.",
  ],
  examples: [
    { command: "hunkwise webhook payload.json --event pull_request", says: "deliver a stored payload" },
    { command: "hunkwise webhook - --event issue_comment < comment.json", says: "from standard input" },
  ],
  run: async (values, positionals, io) => {
    const { deliverFile } = await import("./deliver-file.ts");
    return deliverFile(positionals[0] ?? "-", values, io);
  },
});
