import { defineCommand } from "./command.ts";

export const serve = defineCommand({
  positionals: [],
  options: {},
  notes: [
    "Receives webhooks, stores what follows from them and works it off in the same process. Everything is set by " +
      "environment variables or a .env file beside package.json; docs/configuration.md lists them. Without App credentials " +
      "it serves the page that creates the App.",
    "",
    "SIGTERM and SIGINT hand running jobs back to the queue and end the process; the next start takes them up.",
  ],
  examples: [
    { command: "hunkwise serve", says: "on port 3000" },
    { command: "PORT=8080 LOG_LEVEL=debug hunkwise serve", says: "elsewhere, with every detail" },
  ],
  run: async (_values, _positionals, io) => (await import("./run-server.ts")).runServer(io),
});
