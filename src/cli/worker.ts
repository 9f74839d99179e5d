import { defineCommand } from "./command.ts";

export const worker = defineCommand({
  positionals: [],
  options: {},
  notes: [
    "Works the queue of the data folder off, without a web server: start as many as the machine bears. Same environment as " +
      "serve; HUNKWISE_CONCURRENCY says how many jobs it does at a time.",
    "",
    "SIGTERM and SIGINT hand running jobs back to the queue and end the process.",
  ],
  examples: [{ command: "HUNKWISE_CONCURRENCY=4 hunkwise worker", says: "four jobs at a time" }],
  run: async (_values, _positionals, io) => (await import("./run-server.ts")).runWorker(io),
});
